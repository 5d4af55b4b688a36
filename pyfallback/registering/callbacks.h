// registering/callbacks.h: Python functions that the registry calls besides kernels.
//
// Listeners hear of operators as they come and go; a reporter raises in place of the error for a
// missing kernel. Both are owned by the registry, if the collector does not see them, and may be
// called and dropped on any thread. Once the interpreter has ended, listeners are no longer told.
//
// Depends on: runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

namespace opyard::python {

// The functions of _C for them, ended by a null row.
extern PyMethodDef callback_functions[];

}  // namespace opyard::python
