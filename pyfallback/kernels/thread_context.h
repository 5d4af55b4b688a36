// kernels/thread_context.h: capture of a thread's dispatch state, in Python.
//
// opyard.capture_context() is made of these functions of _C. A context is a capsule here.
//
// Depends on: runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

namespace opyard::python {

// The functions of _C for them, ended by a null row.
extern PyMethodDef thread_context_functions[];

}  // namespace opyard::python
