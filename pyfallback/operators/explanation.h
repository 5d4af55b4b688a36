// operators/explanation.h: an Explanation as a dictionary, for opyard.dispatch.
//
// Depends on: inspect/explain.h, runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/inspect/explain.h"

namespace opyard::python {

// {"op", "declaration", "arguments": [(position, name, keys)], "include", "exclude", "mask",
//  "keys", "considered": [(key, taken, reason, provenance)], "key", "has_kernel", "kernel",
//  "gradients": whether they are enabled, "text"}. With the GIL held.
Owned to_python(Runtime& runtime, const Explanation& explanation);

}  // namespace opyard::python
