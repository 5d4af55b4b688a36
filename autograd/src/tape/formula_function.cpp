// autograd/tape/formula_function.cpp: saving for formulas, and running them.
#include "tape/formula_function.h"

#include "functions/calls.h"
#include "functions/gradient_error.h"
#include "opyard/detail/base/free_list.h"

namespace opyard::autograd {
namespace {

using SourceKind = Source::Kind;

// A training step makes its functions and lets them die together.
constinit __thread detail::FreeList spare_functions __attribute__((tls_model("initial-exec"))) =
    detail::FreeList(64);

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

// Values of a user that could change are copied as they are now.
Value unchanging(const Value& value) {
  if (value.is_list()) return Value::list(value.items_unchecked());
  return Value(value);
}

// Whether a complex number is in it.
bool has_complex(const Value& value) {
  if (value.is_tensor()) {
    const Tensor& tensor = value.tensor_unchecked();
    return tensor.defined() && is_complex(tensor.dtype());
  }
  if (!value.is_list()) return value.is_complex();
  const auto& items = value.items_unchecked();
  if (items.empty() || items.front().is_int()) return false;
  return std::any_of(items.begin(), items.end(), has_complex);
}

bool is_list_of_tensors(const Value& value) {
  return value.is_list() && !value.items_unchecked().empty() &&
         value.items_unchecked().front().is_tensor();
}

}  // namespace

void* FormulaFunction::operator new(std::size_t bytes) { return spare_functions.allocate(bytes); }
void FormulaFunction::operator delete(void* memory, std::size_t bytes) noexcept {
  spare_functions.deallocate(memory, bytes);
}

// A tensor that is saved several times is told once.
void SavedValues::show(SavedVisitor& visitor) const {
  for (std::size_t at = 0; at < items_.size(); ++at) {
    const Tensor& tensor = items_[at].tensor.owned();
    if (!tensor.defined()) continue;
    visitor.edge(items_[at].tensor.owned_history());
    std::uint32_t before = 0;
    std::uint32_t times = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (!items_[i].tensor.owned().same(tensor)) continue;
      ++times;
      before += i < at ? 1 : 0;
    }
    if (before == 0) visitor.tensor(tensor, times);
  }
}

void SavedValues::refuse() {
  fail_gradient(
      ErrorKind::BadValue,
      "Trying to backward through the graph a second time (or directly access saved tensors after "
      "they have already been freed). Saved values of the graph are freed by backward() and "
      "grad(); give keep_graph=True (retain_graph=True) the first time to run it again");
}

void SavedValues::refuse_change() {
  fail_gradient(
      ErrorKind::BadValue,
      "Calling register_hooks on a saved tensor after it has been freed, or while a backward reads "
      "it. Saved values of the graph are freed by backward() and grad(); give keep_graph=True "
      "(retain_graph=True) to use them afterwards");
}

void FormulaFunction::save_other_argument(std::uint32_t source, const Value& value) {
  if (is_list_of_tensors(value)) {
    for (const Value& item : value.items_unchecked()) {
      saved_.add(source, item.is_tensor() ? item.tensor_unchecked() : Tensor(), false, true);
    }
  } else {
    saved_.add(source, unchanging(value));
  }
}

void FormulaFunction::save_result(std::uint32_t source, const Value& value) {
  if (!value.is_tensor()) {
    saved_.add(source, unchanging(value));
    return;
  }
  SavedValues::Item& item = saved_.add(source, value.tensor_unchecked(), true);
  item.tensor.set_result(std::uint32_t(formulas_->sources[source].index));
}

void FormulaFunction::save_sizes(std::uint32_t source, IntSpan sizes, const Value& result) {
  if (result.is_tensor() && std::ranges::equal(sizes, result.tensor_unchecked().sizes())) return;
  saved_.add(source, Value::of(std::vector<std::int64_t>(sizes.begin(), sizes.end())));
}

void FormulaFunction::save_answer(std::uint32_t source, std::span<const Value> arguments,
                                  std::span<const Value> results) {
  saved_.add(source, ask(formulas_->sources[source], arguments, results));
}

void FormulaFunction::save_arguments(std::span<const Value> arguments,
                                     std::span<const Overwritten> overwritten) {
  const auto as_it_was = [&](const Value& value) -> Value {
    for (const Overwritten& one : overwritten) {
      if (value.is_tensor() && value.tensor_unchecked().same(one.tensor)) {
        return Value::borrow(one.original);
      }
    }
    return Value::borrow(value);
  };
  for (std::uint32_t i = 0; i < formulas_->sources.size(); ++i) {
    const Source& source = formulas_->sources[i];
    if (!is_needed(i)) continue;
    if (source.kind == SourceKind::Answer && !source.asks_results()) {
      save_answer(i, arguments, {});
    } else if (source.kind == SourceKind::Argument) {
      save_argument(i, as_it_was(arguments[source.index]));
    }
  }
}

void FormulaFunction::save_results(std::span<const Value> arguments,
                                   std::span<const Value> results) {
  for (std::uint32_t i = 0; i < formulas_->sources.size(); ++i) {
    const Source& source = formulas_->sources[i];
    if (!is_needed(i)) continue;
    if (source.kind == SourceKind::Result) {
      save_result(i, results[source.index]);
    } else if (source.kind == SourceKind::OtherSizes) {
      const Tensor& argument = arguments[source.index].tensor_unchecked();
      if (argument.defined()) save_sizes(i, argument.sizes(), results[0]);
    } else if (source.kind == SourceKind::Answer && source.asks_results()) {
      save_answer(i, arguments, results);
    }
  }
}

void FormulaFunction::pack_saved(SavedHooks& hooks) {
  saved_.change([&](auto& items) {
    for (std::size_t i = 0; i < items.size(); ++i) items[i].tensor.pack(hooks);
  });
}

Value FormulaFunction::saved_of(std::size_t source) {
  InlineStack<1> stack;
  saved_.while_saved([&] { read(source, {}, stack); });
  return Value(stack.pop());
}

void FormulaFunction::pack_saved_of(std::size_t source, std::size_t position, SavedHooks& hooks) {
  saved_.change([&](auto& items) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].source == source && at++ == position) items[i].tensor.pack(hooks);
    }
  });
}

bool FormulaFunction::is_of(const Operator& op) const {
  return formulas_->name == backward_name(op);
}

void FormulaFunction::hand_on_tangents(std::span<const Value> results) {
  for (SavedValues::Item& item : saved_.items()) {
    const Source& source = formulas_->sources[item.source];
    if (source.kind != SourceKind::Result || !results[source.index].is_tensor()) continue;
    item.tensor.take_tangent_of(results[source.index].tensor_unchecked());
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

void FormulaFunction::read(std::size_t source, const Gradients& gradients, Stack& to) {
  const Source& from = formulas_->sources[source];
  if (from.kind == SourceKind::Gradient) {
    if (!formulas_->result_is_list && gradients[from.index].defined()) {
      return to.borrow(gradients[from.index]);
    }
    return to.push(gradient_of_result(from.index, gradients));
  }
  std::vector<Value> several;
  for (const SavedValues::Item& item : saved_.items()) {
    if (item.source != source) continue;
    if (item.is_of_list) {
      several.emplace_back(item.tensor.empty() ? Value() : Value(item.tensor.take_out(*this)));
    } else if (item.tensor.empty()) {
      return to.borrow(item.value);
    } else if (const Tensor* const as_it_is = item.tensor.look(*this)) {
      return to.borrow(*as_it_is);
    } else {
      return to.push(Value(item.tensor.take_out(*this)));
    }
  }
  to.push(several.empty() ? Value() : Value::list(std::move(several)));
}

void FormulaFunction::give(const FormulaCode& code, std::size_t output, Value value,
                           Gradients& out) const {
  const std::size_t position = code.positions[output];
  std::size_t first = position;
  std::size_t count = 1;
  if (!counts_.empty()) {
    first = 0;
    for (std::size_t at = 0; at < position; ++at) first += counts_[at];
    count = counts_[position];
  }
  const bool wants_list = formulas_->tensors[position].is_list;
  if (value.is_none()) return;
  if (value.is_tensor() && !wants_list) {
    out[first] = value.take_tensor();
    return;
  }
  OPYARD_CHECK(wants_list && value.is_list(), BadReturn,
               name() + ": the formula \"" + code.text + "\" gave " + repr(value) + ", and " +
                   (wants_list ? "a list of gradients" : "a Tensor or None") + " is wanted");
  const auto& items = value.items_unchecked();
  OPYARD_CHECK(items.size() == count, BadReturn,
               name() + ": the formula \"" + code.text + "\" gave a list of " +
                   std::to_string(items.size()) + " gradients for " + std::to_string(count) +
                   " tensors");
  for (std::size_t j = 0; j < count; ++j) {
    if (items[j].is_tensor()) out[first + j] = items[j].to_tensor();
  }
}

void FormulaFunction::run(const FormulaCode& code, const Gradients& gradients, Gradients& out) {
  InlineStack<8> inputs;
  for (const std::size_t source : code.inputs) read(source, gradients, inputs);
  const jit::Code* chosen = code.code.get();
  const std::span<const Value> values = inputs.top(inputs.size());
  for (const Value& value : values) {
    if (__builtin_expect(has_complex(value), 0)) chosen = &complex_code(code, values);
  }
  Few<Value, 2> outputs(code.outputs.size());
  chosen->run(values, {outputs.data(), outputs.size()});
  for (std::size_t i = 0; i < outputs.size(); ++i) give(code, i, std::move(outputs[i]), out);
}

// See derivative.h [Complex numbers].
const jit::Code& FormulaFunction::complex_code(const FormulaCode& code,
                                               std::span<const Value> inputs) const {
  if (code.complex_code != nullptr) return *code.complex_code;
  if (code.knows_complex) return *code.code;
  for (std::size_t i = 0; i < code.inputs.size(); ++i) {
    if (formulas_->sources[code.inputs[i]].kind == SourceKind::Gradient) continue;
    if (!has_complex(inputs[i])) continue;
    fail(ErrorKind::Unsupported,
         name() + ": the formula \"" + code.text + "\" reads " + repr(inputs[i]) +
             ", which is complex, and does not say how: write conj() around the factors that are "
             "conjugated, as in grad * conj(other)");
  }
  return *code.code;
}

bool FormulaFunction::is_any_defined(const Gradients& gradients) const {
  bool any = false;
  for (const Tensor& gradient : gradients) any = any || gradient.defined();
  return any;
}

void FormulaFunction::run_needed(const Gradients& gradients, Gradients& out) {
  for (std::size_t i = 0; i < formulas_->codes.size(); ++i) {
    if ((needed_ >> i & 1) != 0) run(formulas_->codes[i], gradients, out);
  }
}

Gradients FormulaFunction::apply(Gradients gradients) {
  Gradients out(edge_count());
  if (is_any_defined(gradients)) saved_.while_saved([&] { run_needed(gradients, out); });
  return out;
}

Gradients FormulaFunction::apply_last(Gradients gradients) {
  Gradients out(edge_count());
  if (is_any_defined(gradients)) {
    saved_.while_saved_last([&] { run_needed(gradients, out); });
  } else {
    saved_.give_up();
  }
  return out;
}

}  // namespace opyard::autograd
