// autograd/formula_function.cpp: saving for formulas, and running them.
#include "formula_function.h"

#include "calls.h"

namespace opyard::autograd {
namespace {

using Kind = Source::Kind;

std::vector<std::int64_t> list_of_sizes(const Tensor& tensor) {
  const IntSpan sizes = tensor.sizes();
  return {sizes.begin(), sizes.end()};
}

Value ask(const Source& source, std::span<const Value> arguments, std::span<const Value> results) {
  Stack stack;
  for (const auto& [which, constant] : source.asks) {
    if (which == -1) {
      stack.push(constant);
    } else if (which >= 0) {
      stack.borrow(arguments[std::size_t(which)]);
    } else {
      stack.borrow(results[std::size_t(-2 - which)]);
    }
  }
  source.question->call_boxed(stack);
  return Value(stack.pop());
}

bool asks_results(const Source& source) {
  for (const auto& [which, constant] : source.asks) {
    if (which < -1) return true;
  }
  return false;
}

// Values of a user that could change are kept as they are now.
Value kept(const Value& value) {
  if (value.is_list()) return Value::list(value.items_unchecked());
  return Value(value);
}

bool is_list_of_tensors(const Value& value) {
  return value.is_list() && !value.items_unchecked().empty() &&
         value.items_unchecked().front().is_tensor();
}

}  // namespace

void SavedValues::refuse() {
  fail(ErrorKind::BadValue,
       "Trying to backward through the graph a second time (or directly access saved tensors after "
       "they have already been freed). Saved values of the graph are freed by backward() and "
       "grad(); give keep_graph=True (retain_graph=True) the first time to run it again");
}

void FormulaFunction::save_arguments(std::span<const Value> arguments, const Tensor& written,
                                     const Tensor& original) {
  for (std::size_t i = 0; i < formulas_->sources.size(); ++i) {
    const Source& source = formulas_->sources[i];
    if (!is_needed(i)) continue;
    if (source.kind == Kind::Answer && !asks_results(source)) {
      saved_.items.push_back({i, {}, ask(source, arguments, {})});
      continue;
    }
    if (source.kind != Kind::Argument) continue;
    const Value& value = arguments[source.index];
    if (written.defined() && value.is_tensor() && value.tensor_unchecked().same(written)) {
      saved_.items.push_back({i, SavedTensor(original, false), Value()});
    } else if (value.is_tensor()) {
      saved_.items.push_back({i, SavedTensor(value.tensor_unchecked(), false), Value()});
    } else if (is_list_of_tensors(value)) {
      // One item for each, in order.
      for (const Value& item : value.items_unchecked()) {
        saved_.items.push_back(
            {i, item.is_tensor() ? SavedTensor(item.tensor_unchecked(), false) : SavedTensor(),
             Value(std::int64_t{0})});
      }
    } else {
      saved_.items.push_back({i, {}, kept(value)});
    }
  }
}

void FormulaFunction::save_results(std::span<const Value> arguments,
                                   std::span<const Value> results) {
  for (std::size_t i = 0; i < formulas_->sources.size(); ++i) {
    const Source& source = formulas_->sources[i];
    if (!is_needed(i)) continue;
    if (source.kind == Kind::Result) {
      const Value& value = results[source.index];
      if (value.is_tensor()) {
        SavedTensor saved(value.tensor_unchecked(), true);
        saved.set_result(std::uint32_t(source.index));
        saved_.items.push_back({i, std::move(saved), Value()});
      } else {
        saved_.items.push_back({i, {}, kept(value)});
      }
    } else if (source.kind == Kind::OtherSizes) {
      const Tensor& argument = arguments[source.index].tensor_unchecked();
      const bool same = results[0].is_tensor() && argument.defined() &&
                        std::ranges::equal(argument.sizes(), results[0].tensor_unchecked().sizes());
      if (!same && argument.defined()) {
        saved_.items.push_back({i, {}, Value::of(list_of_sizes(argument))});
      }
    } else if (source.kind == Kind::Answer && asks_results(source)) {
      saved_.items.push_back({i, {}, ask(source, arguments, results)});
    }
  }
}

Value FormulaFunction::gradient_of_result(std::size_t result, const Gradients& gradients) const {
  const auto one = [&](std::size_t input) {
    const Tensor& gradient = gradients[input];
    return Value(gradient.defined() ? gradient : calls::zeros(this->input(input)));
  };
  if (!formulas_->result_is_list) return one(result);
  std::vector<Value> items;
  for (std::size_t i = 0; i < gradients.size(); ++i) items.push_back(one(i));
  return Value::list(std::move(items));
}

Value FormulaFunction::read(std::size_t source, const Gradients& gradients) {
  const Source& from = formulas_->sources[source];
  if (from.kind == Kind::Gradient) return gradient_of_result(from.index, gradients);
  std::vector<Value> several;
  for (std::size_t i = 0; i < saved_.items.size(); ++i) {
    const SavedValues::Item& item = saved_.items[i];
    if (item.source != source) continue;
    if (!item.tensor.empty()) {
      Tensor tensor = item.tensor.take_out(*this);
      if (!item.value.is_int()) return Value(std::move(tensor));
      several.emplace_back(std::move(tensor));
    } else if (item.value.is_int() && from.kind == Kind::Argument && !several.empty()) {
      several.emplace_back();
    } else {
      return Value(item.value);
    }
  }
  return several.empty() ? Value() : Value::list(std::move(several));
}

void FormulaFunction::run(const FormulaCode& code, const Gradients& gradients, Gradients& out) {
  std::vector<Value> inputs;
  inputs.reserve(code.inputs.size());
  saved_.while_kept([&] {
    for (const std::size_t source : code.inputs) inputs.push_back(read(source, gradients));
  });
  std::vector<Value> outputs(code.outputs.size());
  code.code->run(inputs, outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::size_t first = 0;
    for (std::size_t at = 0; at < formulas_->tensors.size(); ++at) {
      const std::size_t count = counts_.empty() ? 1 : counts_[at];
      if (formulas_->tensors[at].argument != code.outputs[i]) {
        first += count;
        continue;
      }
      if (outputs[i].is_tensor()) {
        out[first] = outputs[i].take_tensor();
      } else if (outputs[i].is_list()) {
        const auto& items = outputs[i].items_unchecked();
        OPYARD_CHECK(items.size() == count, BadReturn,
                     name() + ": the formula \"" + code.text + "\" gave a list of " +
                         std::to_string(items.size()) + " gradients for " + std::to_string(count) +
                         " tensors");
        for (std::size_t j = 0; j < count; ++j) {
          if (items[j].is_tensor()) out[first + j] = items[j].to_tensor();
        }
      }
      break;
    }
  }
}

Gradients FormulaFunction::apply(Gradients gradients) {
  Gradients out(edge_count());
  bool any = false;
  for (const Tensor& gradient : gradients) any = any || gradient.defined();
  if (!any) return out;
  if (saved_.given_up()) SavedValues::refuse();
  for (std::size_t i = 0; i < formulas_->codes.size(); ++i) {
    if ((needed_ >> i & 1) != 0) run(formulas_->codes[i], gradients, out);
  }
  return out;
}

}  // namespace opyard::autograd
