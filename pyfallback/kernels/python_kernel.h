// kernels/python_kernel.h: a Python function as a kernel.
//
// The kernel's context holds the function and its runtime; it is dropped through the
// interpreter tag, so that its registration may end on any thread.
//
// Depends on: operators/python_function.h, registry/kernel.h.
#pragma once

#include "runtime/runtime.h"

#include <string>

#include "kernels/results.h"
#include "operators/python_function.h"
#include "opyard/registry/kernel.h"

namespace opyard::python {

// A kernel that calls `function`, which it puts into `shown` as long as it keeps it. With the GIL
// held.
Kernel make_python_kernel(Runtime& runtime, PyObject* function, KernelConvention convention,
                          GcVisibleFunction shown);

// For the Runtime.
extern const PythonKernelCalls python_kernel_calls;

// The kernel behind a record, or null if it is none of this interpreter's.
const PythonKernel* find_python_kernel(const Runtime& runtime, const Record& record) noexcept;

// Leaves a record that has no PythonKernel as its context, and the function that runs it, to the
// next call of the table's trampoline on this thread: see [Trampoline] in python_kernel.cpp.
void leave_for_trampoline(const Record& record, BoxedFunction run) noexcept;

// A function's name, for the report of what is left; of an object that is no function, the class's.
// With the GIL held.
std::string name_of_function(PyObject* function);

// Calls a function with the arguments on the stack, which its results replace. With the GIL held.
// `record` is that of the kernel whose function it is, or null: see operators/kernel_notes.h.
void call_python_function(Runtime& runtime, PyObject* function, KernelConvention convention,
                          const Returner& returner, const Operator& op, DispatchKeySet keys,
                          Stack& stack, const Record* record = nullptr);

// The same with the function that is registered for an operator and a runtime key: what the
// function `python_op_registration_trampoline` does. Raises NoKernel if none of this
// interpreter's is registered there. Any thread.
void run_registered_function(Runtime& runtime, const Operator& op, DispatchKey key,
                             DispatchKeySet keys, Stack& stack, bool with_keyset, bool with_op);

}  // namespace opyard::python
