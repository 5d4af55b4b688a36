// opyard/registry/kernel.h: Kernel: one implementation of an operator, to be registered.
//
//   Kernel::from(&scaled_add)          a function
//   Kernel::from<&scaled_add>()        the same; one that takes a key set is called without a jump
//   Kernel::from([](…) { … })          a lambda or function object, captures included
//   Kernel::boxed(&fn)                 void fn(const Operator&, DispatchKeySet, Stack&), or the
//                                      same without the key set
//   Kernel::fallthrough()              this key is not handled here: dispatch goes on below
//   releases_gil(&scaled_add)          a function that runs while other Python threads may run
//   cpu_only(&scaled_add)              a function that never sees meta tensors
//   Kernel::with_symbolic<&f, &g>()    a function f that takes plain ints, and a boxed function g
//                                      for calls of which an int is symbolic
//
// [Meta] A kernel at CPU, made by from(), released() or boxed(), also serves calls with meta
// tensors, which have sizes and dtypes but no elements, if its operator has neither a kernel at
// Meta nor a composite one, also while a function of Python or C covers it at CPU. It makes its
// results as always; the loops of opyard/kernel.h do nothing there, and what touches elements
// raises, with the operator's name. A kernel that goes by other means returns its results if
// is_meta(x). One that needs elements to know its results' sizes, or touches them first on a thread
// of its own, is registered with cpu_only(); a noexcept function is.
//
// A C++ function that takes a DispatchKeySet first receives the set its call was dispatched
// with, and the parameter is no part of the operator's signature.
//
// [Functions without a key set] They are in their records as they are, and are called with two
// arguments more than they have: context and key set, which come last. x86-64 and AArch64 pass
// arguments from the left and let the caller clear them away, so they do not notice. The language
// does not promise that; elsewhere a thunk comes in between. It would cost 2 ns in a call of 12
// if the result is returned in memory, as a Tensor is, since GCC makes no jump of such a call:
// run the bench row typed_counted before undoing this.
//
// [Lasting functions] A function, with a key set or without, uses nothing that could be freed while
// it runs: its code stays mapped, and the context of its thunk is its address. So a call has left
// the table before it begins, and is a jump: the store that says so would otherwise come between
// the lock instructions of kernel and caller, and cost 2.8 ns of 14.
//
// Depends on: registry/types.h, registry/record.h, registry/operator.h, interpreter/gil.h.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "opyard/detail/registry/record.h"
#include "opyard/detail/registry/types.h"
#include "opyard/interpreter/gil.h"
#include "opyard/registry/operator.h"

namespace opyard {

// Functions on a stack of values, with the operator and the keys of the call, or without.
using BoxedKernel = void (*)(const Operator&, DispatchKeySet, Stack&);
using PlainBoxedKernel = void (*)(const Operator&, Stack&);

// Whether the lock of the interpreter, if the caller holds it, is held while a kernel runs.
enum class Gil { Held, Released };

namespace detail {

#if defined(__x86_64__) || defined(__aarch64__)
inline constexpr bool kFunctionsFitAsTheyAre = true;
#else
inline constexpr bool kFunctionsFitAsTheyAre = false;
#endif

// resolve_memory() for the arguments of a boxed call.
OPYARD_API void resolve_memory_of(std::span<const Value> arguments);
// Whether one of them is a symbolic int, or a list with one.
OPYARD_API bool has_symbolic_int(std::span<const Value> arguments) noexcept;

template <typename T>
inline constexpr bool kMayBeTensor = std::is_same_v<std::remove_cvref_t<T>, Tensor> ||
                                     std::is_same_v<std::remove_cvref_t<T>, std::optional<Tensor>>;

// An argument of a kernel that runs without the lock of the interpreter: memory that is exported,
// of which only its exporter knows all (tensor/exported_tensor.h), belongs to the call from here
// on, so that no one has to be asked inside.
template <typename T>
void resolve_memory(const T& argument) {
  if constexpr (std::is_same_v<T, Tensor>) {
    if (argument.defined()) argument.impl()->storage()->resolve();
  } else if constexpr (requires { argument.has_value(), *argument; }) {
    if (argument.has_value()) resolve_memory(*argument);
  } else if constexpr (requires { requires kMayBeTensor<typename T::value_type>; }) {
    for (const auto& item : argument) resolve_memory(item);
  } else if constexpr (requires { requires kMayBeTensor<decltype(argument.get(0))>; }) {
    for (std::size_t i = 0; i < argument.size(); ++i) resolve_memory(argument.get(i));
  } else if constexpr (std::is_same_v<T, Value>) {
    resolve_memory_of({&argument, 1});
  }
}

// Runs `f(arguments..., context, keys)` with the arguments of a boxed call and puts its result
// in their place. Arguments are borrowed from the stack, so they stay alive for the kernel.
template <typename R, typename... A>
struct Unboxed {
  using Typed = R (*)(A..., void*, DispatchKeySet);
  static constexpr std::size_t kArguments = sizeof...(A);
  static_assert(CheckedResult<R>::value);

  template <std::size_t... I>
  OPYARD_CALLS_OTHER_TYPE static void run(const Record& record, DispatchKeySet keys, Stack& stack,
                                          std::index_sequence<I...>) {
    [[maybe_unused]] const std::span<Value> arguments = stack.top(sizeof...(A));
    const auto typed = reinterpret_cast<Typed>(record.typed);
    // What an argument is unboxed into lives until the kernel has returned. A kernel that
    // takes Tensor& gets a Tensor of its own to change.
    [[maybe_unused]] std::tuple<Held<A>...> held{Argument<A>::unbox(arguments[I])...};
    if constexpr (std::is_void_v<R>) {
      typed(pass<A>(std::get<I>(held))..., record.context, keys);
      stack.drop(sizeof...(A));
    } else {
      // A returned reference is one of the arguments: it is counted before they are dropped.
      // The owner of what was moved from has to look at it again, so a tensor is a value from the
      // start.
      using Result = std::remove_cvref_t<R>;
      if constexpr (std::is_same_v<Result, Tensor> && sizeof...(A) > 0) {
        stack.replace(arguments, Value(typed(pass<A>(std::get<I>(held))..., record.context, keys)));
      } else {
        Result result(typed(pass<A>(std::get<I>(held))..., record.context, keys));
        stack.drop(sizeof...(A));
        ResultOf<Result>::push(stack, std::move(result));
      }
    }
  }

  static void boxed(const Record& record, const Operator&, DispatchKeySet keys, Stack& stack) {
    run(record, keys, stack, std::index_sequence_for<A...>());
  }

  // The same with the arguments of a call from registers, whose results it writes.
  template <std::size_t... I>
  OPYARD_CALLS_OTHER_TYPE static void run(TypedFunction function, void* context,
                                          DispatchKeySet keys, const RegisterCall& call,
                                          std::index_sequence<I...>) {
    const auto typed = reinterpret_cast<Typed>(function);
    [[maybe_unused]] std::tuple<HeldInRegister<A>...> held{read<A>(call, I)...};
    if constexpr (std::is_void_v<R>) {
      typed(pass<A>(std::get<I>(held))..., context, keys);
      call.drop_last_uses();
    } else {
      using Result = std::remove_cvref_t<R>;
      Result result(typed(pass<A>(std::get<I>(held))..., context, keys));
      call.drop_last_uses();
      ResultOf<Result>::write(call.results, std::move(result));
    }
  }

  static void from_registers(TypedFunction function, void* context, DispatchKeySet keys,
                             const RegisterCall& call) {
    run(function, context, keys, call, std::index_sequence_for<A...>());
  }

  static InferredTypes infer() {
    InferredTypes types;
    (types.arguments.push_back(Argument<A>::type()), ...);
    ResultOf<std::remove_cvref_t<R>>::types(types.results);
    return types;
  }

 private:
  template <typename P>
  using Unboxing = decltype(Argument<P>::unbox(std::declval<const Value&>()));
  template <typename P>
  using Held = std::conditional_t<std::is_same_v<P, Tensor&>, Tensor, Unboxing<P>>;
  template <typename P>
  using HeldInRegister = std::conditional_t<std::is_same_v<P, Tensor>, Tensor, Held<P>>;

  template <typename P>
  static decltype(auto) read(const RegisterCall& call, std::size_t position) {
    if constexpr (std::is_same_v<HeldInRegister<P>, Tensor>) {
      return call.take_tensor(position, sizeof...(A));
    } else {
      return Argument<P>::unbox(*call.arguments[position]);
    }
  }

  template <typename P, typename H>
  static decltype(auto) pass(H& held) {
    if constexpr (std::is_reference_v<P> || !std::is_convertible_v<H&&, P>) {
      return (held);
    } else {
      return P(std::move(held));
    }
  }
};

// Takes a callable's signature apart, and sets a leading DispatchKeySet aside.
template <typename Function>
struct CallableOf : CallableOf<decltype(&Function::operator())> {};
template <typename R, typename... A>
struct CallableOf<R (*)(A...)> {
  using Signature = R(A...);
  using Shape = Unboxed<R, A...>;
  static constexpr bool takes_keys = false;
  template <typename F>
  static R invoke(F& function, DispatchKeySet, A... arguments) {
    return function(std::forward<A>(arguments)...);
  }
};
template <typename R, typename... A>
struct CallableOf<R (*)(DispatchKeySet, A...)> {
  using Signature = R(A...);
  using Shape = Unboxed<R, A...>;
  static constexpr bool takes_keys = true;
  template <typename F>
  static R invoke(F& function, DispatchKeySet keys, A... arguments) {
    return function(keys, std::forward<A>(arguments)...);
  }
};
template <typename C, typename R, typename... A>
struct CallableOf<R (C::*)(A...) const> : CallableOf<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct CallableOf<R (C::*)(A...)> : CallableOf<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct CallableOf<R (C::*)(A...) const noexcept> : CallableOf<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct CallableOf<R (C::*)(A...) noexcept> : CallableOf<R (*)(A...)> {};
template <typename R, typename... A>
struct CallableOf<R (*)(A...) noexcept> : CallableOf<R (*)(A...)> {};

// Whether a function would end the process where it raises.
template <typename F>
struct IsNoexcept : std::false_type {};
template <typename R, typename... A>
struct IsNoexcept<R (*)(A...) noexcept> : std::true_type {};
template <typename R, typename C, typename... A>
struct IsNoexcept<R (C::*)(A...) noexcept> : std::true_type {};
template <typename R, typename C, typename... A>
struct IsNoexcept<R (C::*)(A...) const noexcept> : std::true_type {};
template <typename F>
  requires requires { &F::operator(); }
struct IsNoexcept<F> : IsNoexcept<decltype(&F::operator())> {};

// The typed functions that a record stores, by how the callable is reached.
template <typename F, typename Shape>
struct ThunkOf;
template <typename F, typename R, typename... A>
struct ThunkOf<F, Unboxed<R, A...>> {
  using Callable = CallableOf<F>;

  // The context is the function's address.
  static R through_pointer(A... arguments, void* context, DispatchKeySet keys) {
    const auto function = reinterpret_cast<F>(context);
    return Callable::invoke(function, keys, std::forward<A>(arguments)...);
  }
  // The context is the function object.
  static R through_object(A... arguments, void* context, DispatchKeySet keys) {
    return Callable::invoke(*static_cast<F*>(context), keys, std::forward<A>(arguments)...);
  }
  // The function is a constant.
  template <auto function>
  static R direct(A... arguments, void*, DispatchKeySet keys) {
    constexpr auto constant = function;
    return Callable::invoke(constant, keys, std::forward<A>(arguments)...);
  }
  // The first two with the lock of the interpreter released: see interpreter/gil.h. A result is
  // made before the lock is taken again.
  static R released_through_pointer(A... arguments, void* context, DispatchKeySet keys) {
    (resolve_memory(arguments), ...);
    const GilReleased released;
    return through_pointer(std::forward<A>(arguments)..., context, keys);
  }
  static R released_through_object(A... arguments, void* context, DispatchKeySet keys) {
    (resolve_memory(arguments), ...);
    const GilReleased released;
    return through_object(std::forward<A>(arguments)..., context, keys);
  }
};

}  // namespace detail

// Movable, not copyable: it owns the context of its function until it is registered.
class Kernel {
 public:
  // Raises BadRegistration for a null pointer.
  template <typename R, typename... A>
  static Kernel from(R (*function)(A...)) {
    if (function == nullptr) refuse_null();
    using F = R (*)(A...);
    Kernel kernel = shaped<F>();
    kernel.record_->call_as = CallAs::Direct;
    if constexpr (kStandsAsItIs<F>) {
      kernel.record_->typed = reinterpret_cast<TypedFunction>(function);
    } else {
      using Thunk = detail::ThunkOf<F, typename detail::CallableOf<F>::Shape>;
      kernel.record_->typed = reinterpret_cast<TypedFunction>(&Thunk::through_pointer);
      kernel.record_->context = reinterpret_cast<void*>(function);
      if (detail::CallableOf<F>::takes_keys) kernel.record_->call_as = CallAs::DirectWithKeys;
    }
    return kernel;
  }

  template <auto function>
  static Kernel from() {
    using F = std::remove_const_t<decltype(function)>;
    Kernel kernel = shaped<F>();
    kernel.record_->call_as = CallAs::Direct;
    if constexpr (kStandsAsItIs<F>) {
      kernel.record_->typed = reinterpret_cast<TypedFunction>(function);
    } else {
      using Thunk = detail::ThunkOf<F, typename detail::CallableOf<F>::Shape>;
      kernel.record_->typed = reinterpret_cast<TypedFunction>(&Thunk::template direct<function>);
      kernel.record_->context = reinterpret_cast<void*>(function);
      if (detail::CallableOf<F>::takes_keys) kernel.record_->call_as = CallAs::DirectWithKeys;
    }
    return kernel;
  }

  // `function` costs what it costs alone: only calls with boxed arguments look for symbolic ints.
  template <auto function, BoxedKernel symbolic>
  static Kernel with_symbolic() {
    using Shape = typename detail::CallableOf<std::remove_const_t<decltype(function)>>::Shape;
    Kernel kernel = from<function>();
    kernel.record_->boxed = [](const Record& record, const Operator& op, DispatchKeySet keys,
                               Stack& stack) {
      if (detail::has_symbolic_int(stack.top(Shape::kArguments))) {
        return symbolic(op, keys, stack);
      }
      Shape::boxed(record, op, keys, stack);
    };
    return kernel;
  }

  template <typename F>
    requires std::is_class_v<std::remove_cvref_t<F>>
  static Kernel from(F&& object) {
    using Object = std::remove_cvref_t<F>;
    Kernel kernel = shaped<Object>();
    using Thunk = detail::ThunkOf<Object, typename detail::CallableOf<Object>::Shape>;
    kernel.record_->typed = reinterpret_cast<TypedFunction>(&Thunk::through_object);
    kernel.record_->context = new Object(std::forward<F>(object));
    kernel.record_->destroy = [](void* context) { delete static_cast<Object*>(context); };
    return kernel;
  }

  // A function, lambda or function object that runs with the lock of the interpreter released,
  // however it is called: it touches nothing that belongs to an interpreter. Raises BadRegistration
  // for a null pointer.
  template <typename F>
  static Kernel released(F&& function) {
    Kernel kernel = from(std::forward<F>(function));
    using Given = std::remove_cvref_t<F>;
    using Function = std::conditional_t<std::is_function_v<Given>, Given*, Given>;
    using Thunk = detail::ThunkOf<Function, typename detail::CallableOf<Function>::Shape>;
    if constexpr (std::is_class_v<Function>) {
      kernel.record_->typed = reinterpret_cast<TypedFunction>(&Thunk::released_through_object);
    } else {
      const Function pointer = function;
      kernel.record_->typed = reinterpret_cast<TypedFunction>(&Thunk::released_through_pointer);
      kernel.record_->context = reinterpret_cast<void*>(pointer);
      kernel.record_->call_as = CallAs::Direct;  // a call goes to the thunk
    }
    kernel.record_->releases_gil = true;
    return kernel;
  }

  // Raises BadRegistration for a null pointer.
  OPYARD_API static Kernel boxed(BoxedKernel function, Gil gil = Gil::Held);
  template <typename F>
    requires std::is_convertible_v<F, PlainBoxedKernel> && (!std::is_null_pointer_v<F>)
  static Kernel boxed(F function, Gil gil = Gil::Held) {
    return plain_boxed(function, gil);
  }
  OPYARD_API static Kernel fallthrough();
  // A boxed function with a context of its own, destroyed once no call can use it; one that is
  // marked Released releases the lock itself. If this raises bad_alloc, or BadRegistration for a
  // null function, the context is still the caller's.
  OPYARD_API static Kernel with_context(BoxedFunction function, void* context,
                                        void (*destroy)(void*), Gil gil = Gil::Held);

  Kernel(Kernel&&) noexcept = default;
  Kernel& operator=(Kernel&&) noexcept = default;

  // Keeps calls with meta tensors from it: see [Meta].
  void serve_cpu_only() noexcept {
    if (record_ != nullptr) record_->on_meta = OnMeta::Refuses;
  }
  // Makes it one that serves the calls of one interpreter alone: see registry/registry.h.
  void serve_only(const Interpreter* interpreter) noexcept {
    if (record_ != nullptr) record_->interpreter = interpreter;
  }

  // Whether there is anything to register: not in one that was moved from.
  bool is_valid() const noexcept { return record_ != nullptr; }
  // Whether it is of a C++ function with types of its own, which a call reaches without boxes.
  bool is_valid_unboxed() const noexcept { return is_valid() && record_->typed != nullptr; }
  bool is_fallthrough() const noexcept {
    return is_valid() && record_->role == RecordRole::Fallthrough;
  }

  const Record& record() const noexcept { return *record_; }
  std::unique_ptr<Record> release() && { return std::move(record_); }

 private:
  // See [Functions without a key set].
  template <typename F>
  static constexpr bool kStandsAsItIs =
      detail::kFunctionsFitAsTheyAre && !detail::CallableOf<F>::takes_keys;

  Kernel() : record_(new Record) {}
  OPYARD_API static Kernel boxed_in_cpp(BoxedFunction run, void* function, Gil gil);
  [[noreturn]] OPYARD_API static void refuse_null();
  OPYARD_API static Kernel plain_boxed(PlainBoxedKernel function, Gil gil);

  template <typename F>
  static Kernel shaped() {
    using Callable = detail::CallableOf<F>;
    Kernel kernel;
    kernel.record_->boxed = &Callable::Shape::boxed;
    kernel.record_->from_registers = &Callable::Shape::from_registers;
    kernel.record_->signature = &typeid(typename Callable::Signature);
    kernel.record_->infer = &Callable::Shape::infer;
    kernel.record_->on_meta = detail::IsNoexcept<F>::value ? OnMeta::Refuses : OnMeta::Serves;
    return kernel;
  }

  std::unique_ptr<Record> record_;
};

// m.impl("scaled_add", DispatchKey::CPU, releases_gil(&scaled_add));
template <detail::NamesOneFunction F = detail::OverloadedName>
Kernel releases_gil(F&& function) {
  if constexpr (std::is_convertible_v<F, BoxedKernel> ||
                std::is_convertible_v<F, PlainBoxedKernel>) {
    return Kernel::boxed(function, Gil::Released);
  } else {
    return Kernel::released(std::forward<F>(function));
  }
}

namespace detail {

// What m.impl() takes, as a kernel. A noexcept function is one for the CPU only: it could not raise
// where it touches elements that are not there.
template <typename F>
Kernel as_kernel(F&& function) {
  const auto made = [&]() -> Kernel {
    if constexpr (std::is_same_v<std::remove_cvref_t<F>, Kernel>) {
      return std::forward<F>(function);
    } else if constexpr (std::is_convertible_v<F, BoxedKernel> ||
                         std::is_convertible_v<F, PlainBoxedKernel>) {
      return Kernel::boxed(function);
    } else {
      return Kernel::from(std::forward<F>(function));
    }
  };
  Kernel kernel = made();
  if constexpr (IsNoexcept<std::decay_t<F>>::value) kernel.serve_cpu_only();
  return kernel;
}

}  // namespace detail

// m.impl("nonzero_count", DispatchKey::CPU, cpu_only(&nonzero_count)); see [Meta]
template <detail::NamesOneFunction F = detail::OverloadedName>
Kernel cpu_only(F&& function) {
  Kernel kernel = detail::as_kernel(std::forward<F>(function));
  kernel.serve_cpu_only();
  return kernel;
}

}  // namespace opyard
