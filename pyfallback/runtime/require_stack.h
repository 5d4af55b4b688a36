// runtime/require_stack.h: stack check before code of an object's own is called.
//
// Depends on: runtime/{errors,stack_end}.h.
#pragma once

#include "opyard/detail/python/stack_end.h"
#include "runtime/errors.h"

namespace opyard::python {

// Before an object's own code is called, such as its __index__. Throws PythonErrorSet, with
// RecursionError set, at the end of the C stack. With the GIL held, in what Python calls.
inline void require_stack() {
  if (is_stack_at_its_end()) throw PythonErrorSet();
}

}  // namespace opyard::python
