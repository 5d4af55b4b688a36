// autograd/tape/derivative_call.cpp: running the derivative of a call that someone else taped.
#include "opyard/autograd/derivative_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "functions/calls.h"
#include "functions/fit_gradient.h"
#include "functions/plan.h"
#include "opyard/keys/gradient_mode.h"
#include "tape/formula_function.h"

namespace opyard::autograd {
namespace {

// Where edges lead whose gradient is wanted: a derivative may ask should_compute().
class WantedEdge final : public Function {
 public:
  Gradients apply(Gradients) override { return {}; }
  std::string name() const override { return "WantedEdge"; }
};

// One call: its function, and what the gradient of each edge looks like.
class UntapedCall {
 public:
  UntapedCall(const Plan& plan, std::span<const Value> arguments, std::span<const Value> results,
              const std::vector<bool>& wanted)
      : plan_(plan), arguments_(arguments), results_(results), wanted_(wanted) {
    for (const auto& [argument, is_list] : plan.tensors) add_argument(argument);
    for (const Value& value : arguments) note_memory(value);
    for (const Value& value : results) note_memory(value);
    make_function();
  }

  Gradients run(Gradients gradients) {
    Gradients made(edges_.size());
    if (!function_) return zeros(std::move(made));
    if (gradients.size() != function_->input_count()) {
      fail(ErrorKind::BadArgument,
           fmt::format("{}: {} gradients were given for {} results", to_string(plan_.op->name()),
                       gradients.size(), function_->input_count()));
    }
    for (const Tensor& gradient : gradients) note_memory(gradient);
    Gradients given = function_->apply_last(std::move(gradients));
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      if (!edges_[i].is_wanted) continue;
      if (i < given.size() && given[i].defined()) {
        fit_gradient(*function_, i, given[i], edges_[i].expected);
        made[i] = owned(std::move(given[i]));
      } else {
        made[i] = calls::zeros(edges_[i].expected);
      }
    }
    return made;
  }

 private:
  struct Gradient {
    bool is_wanted = false;
    Expected expected = {};
  };

  void add_argument(std::size_t argument) {
    const Value& value = arguments_[argument];
    if (!value.is_list()) {
      counts_.push_back(1);
      return add_tensor(argument, value);
    }
    counts_.push_back(value.items_unchecked().size());
    for (const Value& item : value.items_unchecked()) add_tensor(argument, item);
  }
  void add_tensor(std::size_t argument, const Value& value) {
    Gradient& edge = edges_.emplace_back();
    if (!value.is_tensor() || !value.tensor_unchecked().defined()) return;
    edge.is_wanted = wanted_[argument] && is_differentiable(value.tensor_unchecked());
    if (edge.is_wanted) edge.expected = Expected(value.tensor_unchecked());
  }

  void make_function() {
    if (plan_.custom) {
      function_ = plan_.custom->make(*plan_.op, arguments_, results_, wanted_);
      if (function_) add_ends(*function_);
      return;
    }
    const std::uint64_t needed = needed_codes();
    if (needed == 0) return;
    const bool has_list =
        std::ranges::any_of(plan_.tensors, [](const auto& one) { return one.is_list; });
    auto formula = make_counted<FormulaFunction>(plan_.formulas, needed,
                                                 has_list ? counts_ : std::vector<std::size_t>());
    add_ends(*formula);
    formula->save_arguments(arguments_, {});
    formula->save_results(arguments_, results_);
    function_ = std::move(formula);
  }
  std::uint64_t needed_codes() const {
    std::uint64_t needed = 0;
    for (const auto& [argument, is_list] : plan_.tensors) {
      if (!wanted_[argument]) continue;
      const int code = plan_.formulas->code_of[argument];
      if (code == FormulaSet::kNoFormula) {
        fail(ErrorKind::Unsupported,
             fmt::format("{}: its derivative has no formula for its argument '{}'",
                         to_string(plan_.op->name()), plan_.op->schema().arguments[argument].name));
      }
      if (code >= 0) needed |= std::uint64_t{1} << code;
    }
    return needed;
  }
  Gradients zeros(Gradients made) const {
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      if (edges_[i].is_wanted) made[i] = calls::zeros(edges_[i].expected);
    }
    return made;
  }

  // A formula may hand on what it got, or a view of it.
  Tensor owned(Tensor gradient) {
    const Storage* const memory = gradient.impl()->storage().get();
    if (!gradient.is_contiguous() || std::ranges::find(memory_, memory) != memory_.end()) {
      gradient = calls::contiguous_copy(gradient);
    }
    note_memory(gradient);
    return gradient;
  }
  void note_memory(const Tensor& tensor) {
    if (tensor.defined()) memory_.push_back(tensor.impl()->storage().get());
  }
  void note_memory(const Value& value) {
    if (value.is_tensor()) return note_memory(value.tensor_unchecked());
    if (!value.is_list()) return;
    for (const Value& item : value.items_unchecked()) note_memory(item);
  }

  void add_ends(Function& function) {
    for (const Gradient& edge : edges_) {
      if (edge.is_wanted) {
        function.add_edge(make_counted<WantedEdge>(), 0);
      } else {
        function.add_edge();
      }
    }
    for (const Value& result : results_) add_result(function, result);
  }
  static void add_result(Function& function, const Value& value) {
    if (value.is_list()) {
      for (const Value& item : value.items_unchecked()) add_result(function, item);
    } else if (value.is_tensor() && value.tensor_unchecked().defined()) {
      function.add_input(value.tensor_unchecked());
    } else {
      function.add_input();
    }
  }

  const Plan& plan_;
  const std::span<const Value> arguments_;
  const std::span<const Value> results_;
  const std::vector<bool>& wanted_;
  std::vector<Gradient> edges_;
  std::vector<std::size_t> counts_;
  FunctionPtr function_;
  std::vector<const Storage*> memory_;  // of what came in, and of gradients
};

// Numbers of all arguments, or results; a function may look at each.
std::vector<std::size_t> all_of(std::size_t count) {
  std::vector<std::size_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

// Those of one result, of a list one for each element.
void add_gradients(const Value& value, const Value& result, Gradients& gradients) {
  if (value.is_list()) {
    for (const Value& item : value.items_unchecked()) add_gradients(item, {}, gradients);
  } else if (value.is_tensor()) {
    gradients.push_back(value.tensor_unchecked());
  } else {
    gradients.resize(gradients.size() + (result.is_list() ? result.items_unchecked().size() : 1));
  }
}

DerivativeUse use_of(const Plan& plan) {
  const Schema& schema = plan.op->schema();
  DerivativeUse use;
  if (plan.custom) {
    use.arguments = all_of(schema.arguments.size());
    use.results = all_of(schema.results.size());
    use.gradients = use.results;
    for (const auto& [argument, is_list] : plan.tensors) use.gives.push_back(argument);
    return use;
  }
  if (!plan.formulas) return use;
  std::set<std::size_t> arguments, results, gradients;
  for (const Source& source : plan.formulas->sources) {
    switch (source.kind) {
      case Source::Kind::Gradient:
        gradients.insert(source.index);
        break;
      case Source::Kind::Argument:
      case Source::Kind::OtherSizes:
        arguments.insert(source.index);
        break;
      case Source::Kind::Result:
        results.insert(source.index);
        break;
      case Source::Kind::Answer:
        for (const auto& [which, constant] : source.asks) {
          if (which >= 0) arguments.insert(std::size_t(which));
          if (which < -1) results.insert(std::size_t(-2 - which));
        }
        break;
    }
    // The sizes of the first result are what those of the argument are compared with.
    if (source.kind == Source::Kind::OtherSizes) results.insert(0);
  }
  for (const auto& [argument, is_list] : plan.tensors) {
    const int code = plan.formulas->code_of[argument];
    if (code >= 0) {
      use.gives.push_back(argument);
      arguments.insert(argument);
    }
    if (code == FormulaSet::kNoFormula) use.missing.push_back(argument);
  }
  use.arguments.assign(arguments.begin(), arguments.end());
  use.results.assign(results.begin(), results.end());
  use.gradients.assign(gradients.begin(), gradients.end());
  return use;
}

}  // namespace

DerivativeCall::DerivativeCall(const Operator& op)
    : plan_(make_plan(op, nullptr)), use_(use_of(*plan_)) {}
DerivativeCall::DerivativeCall(DerivativeCall&&) noexcept = default;
DerivativeCall& DerivativeCall::operator=(DerivativeCall&&) noexcept = default;
DerivativeCall::~DerivativeCall() = default;

DerivativeCall::operator bool() const noexcept { return plan_->custom || plan_->formulas; }
const Operator& DerivativeCall::op() const noexcept { return *plan_->op; }
const DerivativeUse& DerivativeCall::use() const noexcept { return use_; }

Gradients DerivativeCall::run(std::span<const Value> arguments, std::span<const Value> results,
                              Gradients gradients, const std::vector<bool>& wanted) const {
  const Schema& schema = plan_->op->schema();
  const auto require_count = [&](std::size_t given, std::size_t count, const char* what) {
    if (given == count) return;
    fail(ErrorKind::BadArgument, fmt::format("{}: {} {} were given, and it has {}",
                                             to_string(plan_->op->name()), given, what, count));
  };
  require_count(arguments.size(), schema.arguments.size(), "arguments");
  require_count(results.size(), schema.results.size(), "results");
  require_count(wanted.size(), schema.arguments.size(), "answers to what is wanted");
  if (!*this) {
    fail(ErrorKind::Unsupported, to_string(plan_->op->name()) + " has no derivative");
  }
  const GradientModeGuard off(GradientMode::NoGradients);
  return UntapedCall(*plan_, arguments, results, wanted).run(std::move(gradients));
}

Value DerivativeCall::run(std::span<const Value> values) const {
  const Schema& schema = plan_->op->schema();
  const auto& [arguments, results, gradients, gives, missing] = use_;
  const std::size_t count = gradients.size() + arguments.size() + results.size() + 1;
  if (values.size() != count || !values.back().is_list() ||
      values.back().items_unchecked().size() != gives.size()) {
    fail(ErrorKind::BadArgument,
         fmt::format("the derivative of {} takes {} values and {} answers to what is wanted, and "
                     "got {} values",
                     to_string(plan_->op->name()), count - 1, gives.size(), values.size()));
  }
  std::vector<Value> given(schema.arguments.size()), got(schema.results.size());
  std::vector<Value> of_results(schema.results.size());
  auto next = values.begin();
  for (const std::size_t i : gradients) of_results[i] = *next++;
  for (const std::size_t i : arguments) given[i] = *next++;
  for (const std::size_t i : results) got[i] = *next++;
  Gradients flat;
  for (std::size_t i = 0; i < got.size(); ++i) add_gradients(of_results[i], got[i], flat);
  std::vector<bool> wanted(given.size());
  const std::span<const Value> flags = next->items_unchecked();
  for (std::size_t i = 0; i < flags.size(); ++i) wanted[gives[i]] = flags[i].to_bool();
  std::vector<Value> made;
  for (Tensor& gradient : run(given, got, std::move(flat), wanted)) {
    if (gradient.defined()) made.emplace_back(std::move(gradient));
  }
  return Value::list(std::move(made));
}

}  // namespace opyard::autograd
