// autograd/tape/plain_tape.cpp: taping a call of a plain operator.
//
//   1  which tensors need a gradient; what is to be saved for them is in the plan
//   2  the function is made, with its edges and what it saves of the arguments, in place
//   3  the call goes on below
//   4  results get their history, and the function what it saves of them
//
// The arguments are gone after 3 if the stack owned them. What is asked of them later, their sizes
// and whether a result is one of them, is noted before.
#include "tape/plain_tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "opyard/autograd.h"
#include "opyard/detail/tensor/exported_tensor.h"
#include "tape/formula_function.h"
#include "tape/tell.h"

namespace opyard::autograd {
namespace {

// The tensors of a call, in the order of Plan::tensors. What is not noted is not set at all, so
// that a call pays for the tensors that it has, and not for those that it could have.
struct Tensors {
  struct Target {
    Function* function;  // null if the edge has to be asked for
    std::uint32_t input;
  };
  static constexpr std::size_t kMost = 64;  // see Plan::is_plain

  std::uint64_t needing = 0;       // which of them need a gradient
  std::uint64_t inference = 0;     // which of them must not be saved
  const TensorImpl* impls[kMost];  // compared, never followed after the call
  Target targets[kMost];           // of those that need a gradient: what their edges lead to

  // 1.
  Tensors(const Plan& plan, std::span<const Value> arguments) {
    std::size_t i = 0;
    for (const auto& tensor : plan.tensors) note(i++, arguments[tensor.argument]);
  }

 private:
  void note(std::size_t i, const Value& value) {
    const TensorImpl* const impl =
        value.is_tensor() ? value.tensor_unchecked().impl().get() : nullptr;
    impls[i] = impl;
    if (impl == nullptr) return;
    if (__builtin_expect(impl->has_mark(TensorImpl::kInference), 0)) {
      inference |= std::uint64_t{1} << i;
    }
    if (!is_floating_point(impl->dtype()) && !is_complex(impl->dtype())) return;
    targets[i] = {};
    if (impl->storage()->gradient_state()) {
      if (!requires_gradient(value.tensor_unchecked())) return;
    } else {
      const auto* const state = static_cast<const TensorState*>(impl->gradient_state().get());
      if (state == nullptr) return;
      if (Function* const function = state->history.function.get()) {
        targets[i] = {function, state->history.input};
      } else if (state->required.load(std::memory_order_relaxed)) {
        targets[i].function = state->accumulate.get();
      } else {
        return;
      }
    }
    needing |= std::uint64_t{1} << i;
  }
};

class PlainCall {
 public:
  PlainCall(const Plan& plan, const Needs& needs, const Tensors& tensors,
            std::span<const Value> arguments)
      : plan_(plan),
        needs_(needs),
        tensors_(tensors),
        owner_(make_counted<FormulaFunction>(plan.formulas, needs.codes)),
        function_(owner_.get()) {
    for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
      if ((needs.edges >> i & 1) == 0) {
        function_->add_edge();
      } else if (const Tensors::Target& target = tensors.targets[i]; target.function != nullptr) {
        function_->add_edge(FunctionPtr::share(target.function), target.input);
      } else {
        function_->add_edge(edge_of(arguments[plan.tensors[i].argument].tensor_unchecked()));
      }
    }
    for (const std::uint32_t source : needs.before) {
      const Source& from = plan.formulas->sources[source];
      if (from.kind == Source::Kind::Answer) {
        function_->save_answer(source, arguments, {});
      } else {
        function_->save_argument(source, arguments[from.index]);
      }
    }
    if (plan.is_view || !needs.after.empty()) note_rest(arguments);
  }

  const Function& function() const { return *function_; }

  void finish(std::span<Value> results) {
    for (std::size_t i = 0; i < results.size(); ++i) add_result(i, results[i]);
    std::size_t noted = 0;
    for (const std::uint32_t source : needs_.after) {
      const Source& from = plan_.formulas->sources[source];
      if (from.kind == Source::Kind::Result) {
        function_->save_result(source, results[from.index]);
      } else if (const Sizes& sizes = rest_->sizes[noted++]; sizes.defined) {
        function_->save_sizes(source, sizes.sizes, results[0]);
      }
    }
  }

 private:
  struct Sizes {
    DimVector sizes;
    bool defined = false;
  };

  // What is known before the call, of calls that ask for it.
  struct Rest {
    Few<Sizes, 2> sizes;    // of the arguments that Needs::after asks
    Few<Tensor, 1> viewed;  // by result
  };

  void note_rest(std::span<const Value> arguments) {
    rest_.emplace();
    for (const std::uint32_t source : needs_.after) note_sizes(source, arguments);
    if (!plan_.is_view) return;
    for (const int viewed : plan_.view_of) {
      rest_->viewed.push_back(viewed == kNone ? Tensor()
                                              : arguments[std::size_t(viewed)].tensor_unchecked());
    }
  }
  void note_sizes(std::uint32_t source, std::span<const Value> arguments) {
    const Source& from = plan_.formulas->sources[source];
    if (from.kind != Source::Kind::OtherSizes) return;
    const Value& value = arguments[from.index];
    if (value.is_tensor() && value.tensor_unchecked().defined()) {
      rest_->sizes.emplace_back(DimVector(value.tensor_unchecked().sizes()), true);
    } else {
      rest_->sizes.emplace_back();
    }
  }

  bool is_argument(const TensorImpl* result) const noexcept {
    const TensorImpl* const* const end = tensors_.impls + plan_.tensors.size();
    return std::find(tensors_.impls, end, result) != end;
  }

  void add_result(std::size_t position, Value& value) {
    const Tensor& result = value.tensor_unchecked();
    if (!result.defined()) {
      function_->add_input();
      return;
    }
    const std::uint32_t input = function_->add_input(result);
    if (!is_differentiable(result)) return;
    // An argument that is handed through has the history that it has. No one else owns a fresh
    // result.
    if (!result.impl()->is_unshared() && is_argument(result.impl().get())) {
      return;
    }
    const bool is_view = plan_.view_of[position] != kNone;
    // The last result takes the owner itself; nothing drops results before all is saved.
    const bool is_last = position + 1 == plan_.view_of.size();
    Edge history{is_last ? FunctionPtr(std::move(owner_)) : FunctionPtr(owner_), input};
    if (is_fresh(*result.impl())) {
      auto state = make_counted<TensorState>();
      state->history = std::move(history);
      result.impl()->gradient_state().set_unshared(std::move(state));
      return note_viewed(position, result);
    }
    // A kernel gave a tensor of its own that has a history: it keeps that.
    if (result.impl()->gradient_state())
      value = Value(with_own_history(*plan_.op, result, is_view));
    set_history(value.tensor_unchecked(), std::move(history));
    note_viewed(position, value.tensor_unchecked());
  }
  // No one else sees it, and nothing is known of it or of its memory.
  static bool is_fresh(const TensorImpl& result) noexcept {
    return result.is_unshared() && !result.gradient_state() && !result.storage()->gradient_state();
  }
  void note_viewed(std::size_t position, const Tensor& fresh) {
    if (plan_.view_of[position] == kNone || !rest_->viewed[position].defined()) return;
    note_base(fresh, rest_->viewed[position]);
  }

  const Plan& plan_;
  const Needs& needs_;
  const Tensors& tensors_;
  CountedPtr<FormulaFunction> owner_;  // empty once the last result has it
  FormulaFunction* const function_;
  std::optional<Rest> rest_;
};

}  // namespace

Tensor with_own_history(const Operator& op, const Tensor& result, bool is_view) {
  if (!is_view) return detached(result);
  // Another tensor for a wrapper would not be of its class.
  if (!result.keys().has(DispatchKey::Python)) return another_tensor(result);
  const TensorState* const state = find_state(result);
  if (state == nullptr || !(state->history || state->required.load())) return result;
  fail(ErrorKind::BadReturn,
       fmt::format("{}: a handler gave {} as a view, which has a history already, or requires a "
                   "gradient: it would lose that. Let the handler give another wrapper of the "
                   "inner tensor each time",
                   to_string(op.name()), describe(result)));
}

void note_base(const Tensor& view, const Tensor& of) {
  const bool is_wrapper = ExportedTensor::is_without_memory(*view.impl());
  if (is_wrapper || view.impl()->storage().get() != of.impl()->storage().get()) {
    // A copy after all; but of a wrapper no one can tell, so that it must not be written.
    if (!view.keys().has(DispatchKey::Python)) return;
    TensorImpl& impl = *view.impl();
    return impl.set_marks(std::uint8_t(impl.marks() | TensorImpl::kMadeWithoutGradients));
  }
  // A handler may have made it from a detached tensor, or under no_grad: its call is taped.
  view.impl()->inherit_marks(*of.impl());
  TensorState& state = require_state(view);
  const TensorState* const base_state = find_state(of);
  if (base_state != nullptr && base_state->base != nullptr) {
    state.base = std::make_unique<Base>(*base_state->base);
  } else {
    state.base = std::make_unique<Base>(Base{history_of(of), Geometry(of), is_leaf(of)});
  }
}

Taped tape_plain(const Plan& plan, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const std::span<const Value> arguments = stack.top(op.schema().arguments.size());
  const Tensors tensors(plan, arguments);
  if (tensors.needing == 0) return Taped::NotNeeded;
  const Needs& needs = plan.needs(tensors.needing);
  const bool is_refused = (tensors.inference & needs.saved) != 0;  // the long way has the text
  if (is_refused || !needs.is_plain) return Taped::NotPlain;
  PlainCall call(plan, needs, tensors, arguments);
  tell_of_call(call.function());
  {
    const ExcludeDispatchKeyGuard below(kAutogradKeys);
    detail::run_below(op, keys - kAutogradKeys, stack);
  }
  call.finish(stack.top(op.schema().results.size()));
  return Taped::Done;
}

}  // namespace opyard::autograd
