// vtable/gpu_trace.h: asking to be told of devices; opyard/gpu_trace.py has what people use.
//
// Depends on: runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

namespace opyard::python {

// The functions of _C for it, ended by a null row.
extern PyMethodDef trace_functions[];

}  // namespace opyard::python
