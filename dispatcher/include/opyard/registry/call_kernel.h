// opyard/registry/call_kernel.h: calling a kernel by itself, for its unit tests.
//
//   const Kernel kernel = Kernel::from(&scaled_add);
//   const Tensor y = call_kernel<Tensor(const Tensor&, double)>(kernel, {DispatchKey::CPU}, x, 2.0);
//
// The kernel runs as a call that was dispatched with these keys would run it; no table is read and
// no layer is asked. One that takes a key set is given `keys`, which are no part of the signature.
// A kernel that takes its arguments on a stack is called with the operator that it is to serve.
//
// Depends on: registry/kernel.h.
#pragma once

#include <typeinfo>
#include <utility>

#include "opyard/registry/kernel.h"

namespace opyard {

namespace detail {

// Raises BadSignature, naming both, if the kernel's C++ signature is another or it has none.
OPYARD_API void require_signature(const Record& record, const std::type_info& wanted);

template <typename Signature>
struct KernelCall;
template <typename R, typename... A>
struct KernelCall<R(A...)> {
  OPYARD_CALLS_OTHER_TYPE static R run(const Record& record, DispatchKeySet keys, A... arguments) {
    require_signature(record, typeid(R(A...)));
    const auto typed = reinterpret_cast<R (*)(A..., void*, DispatchKeySet)>(record.typed);
    return typed(std::forward<A>(arguments)..., record.context, keys);
  }
};

}  // namespace detail

// Raises BadSignature for another signature than the kernel's, and what the kernel throws.
template <typename Signature, typename... A>
decltype(auto) call_kernel(const Kernel& kernel, DispatchKeySet keys, A&&... arguments) {
  return detail::KernelCall<Signature>::run(kernel.record(), keys, std::forward<A>(arguments)...);
}

// With the arguments on top of the stack, which the results replace; arguments and results are held
// to the operator's schema, and after an error the arguments are gone. Raises BadSignature for a
// kernel whose C++ signature is none of the schema's, BadValue for one that falls through, and what
// a boxed call raises.
OPYARD_API void call_kernel_boxed(const Kernel& kernel, const Operator& op, DispatchKeySet keys,
                                  Stack& stack);

}  // namespace opyard
