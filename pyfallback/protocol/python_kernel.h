// protocol/python_kernel.h: a Python function as a kernel.
//
// The kernel's context holds the function and its runtime; it is dropped through the
// interpreter tag, so that its registration may end on any thread.
//
// Depends on: objects/python_function.h, registry/kernel.h.
#pragma once

#include "runtime/runtime.h"

#include "objects/python_function.h"
#include "opyard/registry/kernel.h"

namespace opyard::python {

// A kernel that calls `function`. With the GIL held.
Kernel make_python_kernel(Runtime& runtime, PyObject* function, KernelConvention convention);

}  // namespace opyard::python
