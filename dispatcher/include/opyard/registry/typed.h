// opyard/registry/typed.h: calling an operator from C++ without boxing.
//
//   auto add = require_operator("demo::scaled_add").typed<Tensor(const Tensor&, double)>();
//   Tensor y = add.call(x, 2.0);
//
// A handle is two words, is made once, and is good for ever. A call is: or the key sets of
// the tensor arguments, join and cut the thread's sets, mask, take the highest key, load the
// slot, call through the record. It takes no lock, allocates nothing and counts nothing.
//
// Depends on: registry/operator.h, registry/types.h, registry/watched.h.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "opyard/registry/kernel.h"
#include "opyard/registry/operator.h"
#include "opyard/registry/types.h"
#include "opyard/registry/watched.h"

namespace opyard {

namespace detail {

// How many tensors a result refers to that is a tuple of references to out arguments.
template <typename R>
struct WrittenTensors {
  static constexpr std::size_t count = 0;
};
template <typename... T>
  requires(sizeof...(T) > 0 && (std::is_same_v<T, Tensor&> && ...))
struct WrittenTensors<std::tuple<T...>> {
  static constexpr std::size_t count = sizeof...(T);
};

}  // namespace detail

template <typename R, typename... A>
class TypedOperator<R(A...)> {
 public:
  explicit TypedOperator(const Operator& op) noexcept : op_(&op) {}

  // Raises NoKernel, OperatorGone, and whatever the kernel throws.
  [[gnu::always_inline]] R call(A... arguments) const {
    const Operator& op = *op_;
    detail::begin_reading();
    const DispatchKeySet keys = op.call_keys((DispatchKeySet() | ... | keys_of<A>(arguments)));
    return go<Step::Call>(op, keys, std::forward<A>(arguments)...);
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
    detail::begin_reading();
    return go<Step::Redispatch>(op, keys, std::forward<A>(arguments)...);
  }

  const Operator& op() const noexcept { return *op_; }

 private:
  using Typed = R (*)(A..., void*, DispatchKeySet);
  using Keyed = R (*)(DispatchKeySet, A...);

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
                                                             A&&... arguments) {
    const Record* found;
    // Where a layer stands above the kernel, it takes the key set as a rule.
    if (detail::is_dense(keys)) {
      found = &op.dense_record(keys);
    } else {
      found = &op.layered_record(keys);
      if (__builtin_expect(found->keyed, 1)) {
        const auto keyed = reinterpret_cast<Keyed>(found->context);
        detail::end_reading();
        return keyed(keys, std::forward<A>(arguments)...);
      }
    }
    const Record& record = *found;
    if (__builtin_expect(record.lasting, 1)) {
      const auto typed = reinterpret_cast<Typed>(record.typed);
      void* const context = record.context;
      detail::end_reading();
      return typed(std::forward<A>(arguments)..., context, keys);
    }
    return go_deeper<step>(op, record, keys, std::forward<A>(arguments)...);
  }

  // To a record that has to stay alive until its kernel has returned. A redispatch inside of a call
  // is covered by that call's depth; that it raises none tells the trace a call that a kernel makes
  // from one that it passes on.
  template <Step step>
  [[gnu::noinline]] static R go_deeper(const Operator& op, const Record& record,
                                       DispatchKeySet keys, A... arguments) {
    if (step == Step::Redispatch && detail::local_block.call_depth > 0) {
      detail::end_reading();
      return run(op, record, keys, std::forward<A>(arguments)...);
    }
    const detail::CallDepth depth;
    detail::end_reading();
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

  // The slot held a stub, or a kernel that only takes boxes. Static, so that a handle in a
  // caller's hand can stay in a register: nothing takes its address.
  [[gnu::noinline]] static R run_otherwise(const Operator& op, const Record& found,
                                           DispatchKeySet keys, A... arguments) {
    const Record& record = found.role == RecordRole::Kernel ? found : op.settle(keys);
    return run_settled(op, record, keys, std::forward<A>(arguments)...);
  }

  OPYARD_CALLS_OTHER_TYPE static R run_settled(const Operator& op, const Record& record,
                                               DispatchKeySet keys, A... arguments) {
    if (record.typed != nullptr) {
      return reinterpret_cast<Typed>(record.typed)(std::forward<A>(arguments)..., record.context,
                                                   keys);
    }
    if (detail::watches(record) && !detail::wants_values(record)) {
      const detail::WatchedCall watched(op, record, keys);
      return run_settled(op, watched.next(), watched.keys(), std::forward<A>(arguments)...);
    }
    InlineStack<sizeof...(A) + 4> stack;
    (detail::Argument<A>::box(stack, arguments), ...);
    op.run_boxed(record, keys, stack);
    if constexpr (std::is_reference_v<R>) {
      return TypedOperator(op).returned_argument(stack.peek(), arguments...);
    } else if constexpr (kWritten > 0) {
      return written_arguments(std::make_index_sequence<kWritten>(), arguments...);
    } else if constexpr (!std::is_void_v<R>) {
      return ResultOf<R>::take(stack.top(ResultOf<R>::count));
    }
  }

  // The argument that a result is: the first that is the same tensor.
  template <typename First, typename... Rest>
  R returned_argument(const Value& result, First& first, Rest&... rest) const {
    if constexpr (std::is_convertible_v<First&, R>) {
      if (result.is_tensor() && result.tensor_unchecked().same(first)) return first;
    }
    if constexpr (sizeof...(Rest) > 0) {
      return returned_argument(result, rest...);
    } else {
      fail(ErrorKind::BadReturn,
           to_string(op_->name()) +
               ": the kernel returned a tensor that is none of its arguments, but this call was "
               "made with a C++ signature that returns a reference to one.\nDeclaration: " +
               op_->declaration());
    }
  }

  // The last arguments, which a signature with several out arguments returns in order.
  template <std::size_t... I, typename... B>
  static R written_arguments(std::index_sequence<I...>, B&... arguments) {
    const std::tuple<B&...> all(arguments...);
    return R(std::get<sizeof...(B) - sizeof...(I) + I>(all)...);
  }

  static constexpr std::size_t kWritten = detail::WrittenTensors<R>::count;

  const Operator* op_;
};

template <typename Signature>
TypedOperator<Signature> Operator::typed() const {
  using Shape = typename detail::CallableOf<Signature*>::Shape;
  check_signature(typeid(Signature), &Shape::infer);
  return TypedOperator<Signature>(*this);
}

}  // namespace opyard
