// autograd/record_plain.cpp: recording a call of a plain operator.
//
//   1  which tensors need a gradient; what is to be saved for them is in the plan
//   2  the function is made, with its edges and what it saves of the arguments, in place
//   3  the call goes on below
//   4  results get their history, and the function what it saves of them
//
// The arguments are gone after 3 if the stack owned them. What is asked of them later, their sizes
// and whether a result is one of them, is noted before.
#include "record_plain.h"

#include <algorithm>

#include "formula_function.h"
#include "opyard/autograd.h"
#include "tell.h"

namespace opyard::autograd {
namespace {

using Kind = Source::Kind;

// 1. Which tensors need a gradient; `refused`: one must not, for which the long way has the text.
std::uint64_t needing(const Plan& plan, std::span<const Value> arguments, bool& refused) {
  std::uint64_t needs = 0;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const Value& value = arguments[plan.tensors[i].argument];
    if (!value.is_tensor() || !value.tensor_unchecked().defined()) continue;
    const Tensor& tensor = value.tensor_unchecked();
    refused = refused || tensor.impl()->has_mark(TensorImpl::kInference);
    if (requires_gradient(tensor) && is_differentiable(tensor)) needs |= std::uint64_t{1} << i;
  }
  return needs;
}

class PlainCall {
 public:
  PlainCall(const Plan& plan, const Needs& needs, std::span<const Value> arguments)
      : plan_(plan),
        needs_(needs),
        owner_(make_counted<FormulaFunction>(plan.formulas, needs.codes)),
        function_(owner_.get()) {
    for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
      const Value& value = arguments[plan.tensors[i].argument];
      const bool has_edge = (needs.edges >> i & 1) != 0;
      function_->add_edge(has_edge ? edge_of(value.tensor_unchecked()) : Edge());
      impls_.push_back(value.is_tensor() ? value.tensor_unchecked().impl().get() : nullptr);
    }
    for (const std::uint32_t source : needs.before) {
      const Source& from = plan.formulas->sources[source];
      if (from.kind == Kind::Answer) {
        function_->save_answer(source, arguments, {});
      } else {
        function_->save_argument(source, arguments[from.index]);
      }
    }
    for (const std::uint32_t source : needs.after) note_sizes(source, arguments);
    if (!plan.is_view) return;
    for (const int viewed : plan.view_of) {
      viewed_.push_back(viewed == kNone ? Tensor()
                                        : arguments[std::size_t(viewed)].tensor_unchecked());
    }
  }

  const Function& function() const { return *function_; }

  void finish(std::span<Value> results) {
    for (std::size_t i = 0; i < results.size(); ++i) add_result(i, results[i]);
    std::size_t noted = 0;
    for (const std::uint32_t source : needs_.after) {
      const Source& from = plan_.formulas->sources[source];
      if (from.kind == Kind::Result) {
        function_->save_result(source, results[from.index]);
      } else if (const Sizes& sizes = sizes_[noted++]; sizes.defined) {
        function_->save_sizes(source, sizes.sizes, results[0]);
      }
    }
  }

 private:
  struct Sizes {
    DimVector sizes;
    bool defined = false;
  };

  void note_sizes(std::uint32_t source, std::span<const Value> arguments) {
    const Source& from = plan_.formulas->sources[source];
    if (from.kind != Kind::OtherSizes) return;
    const Value& value = arguments[from.index];
    if (value.is_tensor() && value.tensor_unchecked().defined()) {
      sizes_.emplace_back(DimVector(value.tensor_unchecked().sizes()), true);
    } else {
      sizes_.emplace_back();
    }
  }

  void add_result(std::size_t position, Value& value) {
    const Tensor& result = value.tensor_unchecked();
    if (!result.defined()) {
      function_->add_input();
      return;
    }
    const std::uint32_t input = function_->add_input(result);
    if (!is_differentiable(result)) return;
    // An argument that is handed through has the history that it has. Nobody else owns a fresh
    // result.
    if (!result.impl()->is_unshared() &&
        std::ranges::find(impls_, result.impl().get()) != impls_.end()) {
      return;
    }
    const bool is_view = plan_.view_of[position] != kNone;
    // A kernel gave a tensor of its own that has a history: it keeps that.
    if (result.impl()->gradient_state() && !is_view) value = Value(detached(result));
    const Tensor& fresh = value.tensor_unchecked();
    // The last result takes the owner itself; nothing drops results before all is saved.
    const bool is_last = position + 1 == plan_.view_of.size();
    set_history(fresh, {is_last ? FunctionPtr(std::move(owner_)) : FunctionPtr(owner_), input});
    if (is_view && viewed_[position].defined()) note_base(fresh, viewed_[position]);
  }

  const Plan& plan_;
  const Needs& needs_;
  CountedPtr<FormulaFunction> owner_;  // empty once the last result has it
  FormulaFunction* const function_;
  Few<const TensorImpl*, 4> impls_;  // compared, never followed
  Few<Sizes, 2> sizes_;              // of the arguments that Needs::after asks
  Few<Tensor, 1> viewed_;            // by result
};

}  // namespace

void note_base(const Tensor& view, const Tensor& of) {
  if (view.impl()->storage().get() != of.impl()->storage().get()) return;  // a copy after all
  TensorState& state = require_state(view);
  const TensorState* const base_state = find_state(of);
  if (base_state != nullptr && base_state->base != nullptr) {
    state.base = std::make_unique<Base>(*base_state->base);
  } else {
    state.base = std::make_unique<Base>(Base{history_of(of), Geometry(of), is_leaf(of)});
  }
}

Recorded record_plain(const Plan& plan, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const std::span<const Value> arguments = stack.top(op.schema().arguments.size());
  bool refused = false;
  const std::uint64_t tensors = needing(plan, arguments, refused);
  if (tensors == 0) return Recorded::NotNeeded;
  const Needs& needs = plan.needs(tensors);
  if (refused || !needs.is_plain) return Recorded::NotPlain;
  PlainCall call(plan, needs, arguments);
  tell_of_call(call.function());
  {
    const ExcludeDispatchKeyGuard below(kAutogradKeys);
    op.redispatch_boxed(keys - kAutogradKeys, stack);
  }
  call.finish(stack.top(op.schema().results.size()));
  return Recorded::Done;
}

}  // namespace opyard::autograd
