// autograd/tape/tell.h: notification of the function listener.
//
// Depends on: opyard/autograd/function.h, opyard/observe/function_listener.h.
#pragma once

#include "opyard/autograd/function.h"
#include "opyard/observe/function_listener.h"

namespace opyard::autograd {

// Right before the call goes on below. One load if there is no listener.
inline void tell_of_call(const Function& function) noexcept {
  const FunctionListener listener = function_listener.load(std::memory_order_acquire);
  if (__builtin_expect(listener == nullptr, 1)) return;
  listener({nullptr, &function, function.sequence(), nullptr}, FunctionMoment::Calls);
}

}  // namespace opyard::autograd
