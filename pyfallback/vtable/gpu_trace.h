// vtable/gpu_trace.h: subscription to device events; opyard/gpu_trace.py has the public names.
//
// Depends on: runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

namespace opyard::python {

// The functions of _C for it, ended by a null row.
extern PyMethodDef trace_functions[];

}  // namespace opyard::python
