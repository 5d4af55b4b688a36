// protocol/python_kernel.h: a Python function as a kernel.
//
// The kernel's context holds the function and its runtime; it is dropped through the
// interpreter tag, so that its registration may end on any thread.
//
// Depends on: runtime/runtime.h, registry/kernel.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/registry/kernel.h"

namespace opyard::python {

// What a Python kernel is called with before the operator's arguments, in this order.
struct KernelConvention {
  bool with_keyset = false;  // the DispatchKeySet of the call
  bool with_op = false;      // the operator: for fallbacks, which serve all of them
};

// A kernel that calls `function`. With the GIL held.
Kernel make_python_kernel(Runtime& runtime, PyObject* function, KernelConvention convention);

}  // namespace opyard::python
