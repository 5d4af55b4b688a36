// objects/values/recursion.h: recursion guard within Python's own limit.
//
// Depends on: runtime/errors.h.
#pragma once

#include "runtime/errors.h"

namespace opyard::python {

// One level. Raises RecursionError if nesting goes too deep. With the GIL held.
class RecursionLimit {
 public:
  RecursionLimit(Runtime& runtime, const char* where) {
    if (Py_EnterRecursiveCall(where) != 0) throw_python_error(runtime);
  }
  RecursionLimit(const RecursionLimit&) = delete;
  RecursionLimit& operator=(const RecursionLimit&) = delete;
  ~RecursionLimit() { Py_LeaveRecursiveCall(); }
};

}  // namespace opyard::python
