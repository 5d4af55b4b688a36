// kernels/python_dispatcher.h: the Python dispatcher: kernel choice in Python.
//
// While it is enabled on a thread, each call asks a cache of its operator, key -> what runs there.
// What the cache does not have, the hook `get_dispatch` says: a function, or a key, for the kernel
// that is registered there. Either way calls from inside go through the Python dispatcher again.
//
// Depends on: runtime/runtime.h, registry/operator.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/registry/operator.h"
#include "opyard/value/stack.h"

namespace opyard::python {

// Runs a boxed call with this set: what the function `python_dispatcher` does. Any thread.
void dispatch_in_python(Runtime& runtime, const Operator& op, DispatchKeySet keys, Stack& stack);

// The functions of _C for it, ended by a null row.
extern PyMethodDef python_dispatcher_functions[];

}  // namespace opyard::python
