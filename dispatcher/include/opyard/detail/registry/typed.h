// opyard/detail/registry/typed.h: calling an operator from C++ without boxing.
//
//   auto add = require_operator("demo::scaled_add").typed<Tensor(const Tensor&, double)>();
//   Tensor y = add.call(x, 2.0);
//
// A handle is two words, is made once, and is good for ever. A call is: or the key sets of
// the tensor arguments, join and cut the thread's sets, mask, take the highest key, load the
// slot, call through the record. It takes no lock, allocates nothing and counts nothing.
//
// Depends on: registry/{operator,gradient_slot,types,observed_call}.h.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "opyard/detail/registry/gradient_slot.h"
#include "opyard/detail/registry/observed_call.h"
#include "opyard/detail/registry/types.h"
#include "opyard/registry/kernel.h"
#include "opyard/registry/operator.h"

namespace opyard {

namespace detail {

// Whether a result is a tuple that refers to arguments.
template <typename R>
inline constexpr bool kRefersToArguments = false;
template <typename... T>
inline constexpr bool kRefersToArguments<std::tuple<T...>> = (std::is_reference_v<T> || ...);

}  // namespace detail

template <typename R, typename... A>
class TypedOperator<R(A...)> {
 public:
  explicit TypedOperator(const Operator& op) noexcept : op_(&op) {}

  // Raises NoKernel, OperatorGone, and whatever the kernel throws.
  [[gnu::always_inline]] R call(A... arguments) const {
    const Operator& op = *op_;
    const std::uint32_t outer = detail::begin_reading();
    const DispatchKeySet keys = op.call_keys((DispatchKeySet() | ... | keys_of<A>(arguments)));
    return go<Step::Call>(op, keys, outer, std::forward<A>(arguments)...);
  }
  [[gnu::always_inline]] R operator()(A... arguments) const {
    return call(std::forward<A>(arguments)...);
  }

  // From the given set on: looks neither at the arguments nor at the thread. For kernels,
  // which mask the set they received.
  [[gnu::always_inline]] R redispatch(DispatchKeySet keys, A... arguments) const {
    const Operator& op = *op_;
    if (__builtin_expect(!detail::is_thread_known(), 0)) {
      return redispatch_first(op, keys, std::forward<A>(arguments)...);
    }
    const std::uint32_t outer = detail::begin_reading();
    return go<Step::Redispatch>(op, keys, outer, std::forward<A>(arguments)...);
  }

  const Operator& op() const noexcept { return *op_; }

 private:
  using Typed = R (*)(A..., void*, DispatchKeySet);
  using WithKeys = R (*)(DispatchKeySet, A...);

  template <typename P>
  static DispatchKeySet keys_of(const std::remove_reference_t<P>& argument) noexcept {
    if constexpr (detail::Argument<P>::carries_keys) {
      return detail::Argument<P>::keys(argument);
    } else {
      return DispatchKeySet();
    }
  }

  enum class Step { Call, Redispatch };

  // Ends what begin_reading() began. A function that needs nothing of its record is the last thing
  // that happens here, so that neither a caller nor a layer needs a frame.
  template <Step step>
  [[gnu::always_inline]] OPYARD_CALLS_OTHER_TYPE static R go(const Operator& op,
                                                             DispatchKeySet keys,
                                                             std::uint32_t outer,
                                                             A&&... arguments) {
    const Record* found;
    // If a layer is above the kernel, it takes the key set as a rule.
    if (detail::is_dense(keys)) {
      found = &op.dense_record(keys);
    } else {
      found = &op.layered_record(keys);
      if (__builtin_expect(found->call_as == CallAs::DirectWithKeys, 1)) {
        const auto function = reinterpret_cast<WithKeys>(found->context);
        detail::end_reading(outer);
        return function(keys, std::forward<A>(arguments)...);
      }
      // GCC would load the byte into a register for both paths, one instruction more on each.
      asm("" : "+r"(found));  // NOLINT(hicpp-no-assembler)
    }
    const Record& record = *found;
    if (__builtin_expect(record.call_as != CallAs::Guarded, 1)) {
      const auto typed = reinterpret_cast<Typed>(record.typed);
      void* const context = record.context;
      detail::end_reading(outer);
      return typed(std::forward<A>(arguments)..., context, keys);
    }
    return go_guarded<step>(op, record, keys, outer, std::forward<A>(arguments)...);
  }

  // To a record that is not Direct. The tape passes a call on at once that needs no gradient, if
  // what is below is.
  template <Step step>
  [[gnu::noinline]] OPYARD_CALLS_OTHER_TYPE static R go_guarded(const Operator& op,
                                                                const Record& record,
                                                                DispatchKeySet keys,
                                                                std::uint32_t outer,
                                                                A... arguments) {
    // Before what needs a frame.
    if (__builtin_expect(record.role != RecordRole::Tape, 0)) {
      return go_deeper<step>(op, record, keys, outer, std::forward<A>(arguments)...);
    }
    if (!(false | ... | detail::holds_gradient(arguments))) {
      const DispatchKeySet below = detail::below_layer(keys);
      const Record& next = op.record(below);
      if (__builtin_expect(next.call_as != CallAs::Guarded, 1)) {
        const auto typed = reinterpret_cast<Typed>(next.typed);
        void* const context = next.context;
        detail::end_reading(outer);
        return typed(std::forward<A>(arguments)..., context, below);
      }
    }
    return go_deeper<step>(op, record, keys, outer, std::forward<A>(arguments)...);
  }

  // To a record that has to stay alive until its kernel has returned. A redispatch inside of a call
  // is covered by that call's depth; that it raises none tells the log a call that a kernel makes
  // from one that it passes on.
  template <Step step>
  [[gnu::noinline]] static R go_deeper(const Operator& op, const Record& record,
                                       DispatchKeySet keys, std::uint32_t outer, A... arguments) {
    if (step == Step::Redispatch && detail::local_block.call_depth > 0) {
      detail::end_reading(outer);
      return run(op, record, keys, std::forward<A>(arguments)...);
    }
    const detail::CallDepth depth;
    detail::end_reading(outer);
    return run(op, record, keys, std::forward<A>(arguments)...);
  }

  [[gnu::always_inline]] OPYARD_CALLS_OTHER_TYPE static R run(const Operator& op,
                                                              const Record& record,
                                                              DispatchKeySet keys,
                                                              A&&... arguments) {
    if (__builtin_expect(record.typed == nullptr, 0)) {
      return run_otherwise(op, record, keys, std::forward<A>(arguments)...);
    }
    return reinterpret_cast<Typed>(record.typed)(std::forward<A>(arguments)..., record.context,
                                                 keys);
  }

  // On a thread that has made no call yet.
  [[gnu::noinline]] static R redispatch_first(const Operator& op, DispatchKeySet keys,
                                              A... arguments) {
    detail::enter_thread();
    return TypedOperator(op).redispatch(keys, std::forward<A>(arguments)...);
  }

  // The slot held a built-in record, or a kernel that only takes boxes. Static, so that a handle
  // in a caller's hand can stay in a register: nothing takes its address.
  [[gnu::noinline]] static R run_otherwise(const Operator& op, const Record& found,
                                           DispatchKeySet keys, A... arguments) {
    const bool is_there = found.role == RecordRole::Kernel || found.role == RecordRole::Tape;
    const Record& record = is_there ? found : op.follow(keys);
    return run_record(op, record, keys, std::forward<A>(arguments)...);
  }

  OPYARD_CALLS_OTHER_TYPE static R run_record(const Operator& op, const Record& record,
                                              DispatchKeySet keys, A... arguments) {
    if (record.typed != nullptr) {
      return reinterpret_cast<Typed>(record.typed)(std::forward<A>(arguments)..., record.context,
                                                   keys);
    }
    const bool is_tape = record.role == RecordRole::Tape;
    if (is_tape && detail::passes(record, (false | ... | detail::holds_gradient(arguments)))) {
      DispatchKeySet below = detail::below_layer(keys);
      const Record& next = op.follow(below);
      return run_record(op, next, below, std::forward<A>(arguments)...);
    }
    if (detail::watches(record) && !detail::wants_values(record)) {
      const detail::ObservedCall observed(op, record, keys);
      return run_record(op, observed.next(), observed.keys(), std::forward<A>(arguments)...);
    }
    InlineStack<sizeof...(A) + 4> stack;
    (detail::Argument<A>::box(stack, arguments), ...);
    if (is_tape) {
      detail::run_taped(record, op, keys, stack);
    } else {
      op.run_boxed(record, keys, stack);
    }
    if constexpr (std::is_reference_v<R>) {
      return TypedOperator(op).template returned_argument<R, A...>(stack.peek(), arguments...);
    } else if constexpr (detail::kRefersToArguments<R>) {
      return TypedOperator(op).returned_tuple(stack.top(std::tuple_size_v<R>),
                                              std::make_index_sequence<std::tuple_size_v<R>>(),
                                              arguments...);
    } else if constexpr (!std::is_void_v<R>) {
      return ResultOf<R>::take(stack.top(ResultOf<R>::count));
    }
  }

  // The argument that a result is: the first that the caller gave as such a reference and that is
  // the same tensor.
  template <typename Reference, typename First, typename... Rest>
  Reference returned_argument(const Value& result, std::remove_reference_t<First>& first,
                              std::remove_reference_t<Rest>&... rest) const {
    if constexpr (std::is_lvalue_reference_v<First> && std::is_convertible_v<First, Reference>) {
      if (result.is_tensor() && result.tensor_unchecked().same(first)) return first;
    }
    if constexpr (sizeof...(Rest) > 0) {
      return returned_argument<Reference, Rest...>(result, rest...);
    } else {
      fail(ErrorKind::BadReturn,
           to_string(op_->name()) +
               ": the kernel returned a tensor that is none of its arguments, but this call was "
               "made with a C++ signature that returns a reference to one.\nDeclaration: " +
               op_->declaration());
    }
  }

  // Several results, of which some are arguments.
  template <std::size_t... I>
  R returned_tuple(std::span<Value> results, std::index_sequence<I...>,
                   std::remove_reference_t<A>&... arguments) const {
    const auto returned = [&]<typename T>(std::type_identity<T>, std::size_t i) -> T {
      if constexpr (std::is_reference_v<T>) {
        return returned_argument<T, A...>(results[i], arguments...);
      } else {
        return ResultOf<T>::take(results.subspan(i, 1));
      }
    };
    return R(returned(std::type_identity<std::tuple_element_t<I, R>>(), I)...);
  }

  const Operator* op_;
};

template <typename Signature>
TypedOperator<Signature> Operator::typed() const {
  using Shape = typename detail::CallableOf<Signature*>::Shape;
  check_signature(typeid(Signature), &Shape::infer);
  return TypedOperator<Signature>(*this);
}

}  // namespace opyard
