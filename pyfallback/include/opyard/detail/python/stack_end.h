// opyard/detail/python/stack_end.h: remaining C stack of a thread.
//
// Each call of a Python kernel by way of an operator takes a piece of the C stack, which Python's
// own limit of recursion knows nothing of: 1000 levels are more than a thread has whose stack is
// small, as those of musl and of threading.stack_size() are. So before a Python function is called
// as a kernel or handler, and before code of an object's own, such as an __index__, its caller
// looks: a load and a comparison. What is left is enough for what the function calls that is no
// operator. All that leads back to C++ is tried in test/python/process/test_depth_arguments.py and
// test_depth_functions.py.
//
// On a stack that is not the thread's own, such as a fiber's, nothing is known and nothing is
// refused.
//
// Depends on: python/python.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <cstdint>

#include "opyard/base/export.h"

namespace opyard::python {

// The lowest address at which a level may begin; until it is known, an address above all of them.
inline constinit __thread std::uintptr_t least_stack_address
    __attribute__((tls_model("initial-exec"))) = UINTPTR_MAX;

// Looks closer. True with RecursionError set.
OPYARD_COLD bool refuse_at_stack_end(std::uintptr_t address) noexcept;

// Whether there is no room for a level more; then RecursionError is set. With the GIL held.
[[gnu::always_inline]] inline bool is_stack_at_its_end() noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return __builtin_expect(address < least_stack_address, 0) && refuse_at_stack_end(address);
}

}  // namespace opyard::python
