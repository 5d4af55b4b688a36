// kernels/next_kernel.h: call_next for Python kernels.
//
// The function gets a callable before the arguments of the operator, behind the key set where it
// asks for that: call_next(*args, **kwargs) calls what is below (registry/next.h) with the keys
// of the call. The object is made for one call; held longer, and on any thread, it still leads
// there.
//
// Depends on: operators/{overload,gc_visible_functions}.h, registry/next.h, registry/kernel.h.
#pragma once

#include "runtime/runtime.h"

#include "operators/gc_visible_functions.h"
#include "opyard/registry/kernel.h"

namespace opyard::python {

// A kernel that calls `function` so, which it puts into `shown` as long as it keeps it. With the
// GIL held.
Kernel make_next_kernel(Runtime& runtime, PyObject* function, bool with_keyset,
                        GcVisibleFunction shown);

void add_call_next_type(Runtime& runtime, PyObject* module);

}  // namespace opyard::python
