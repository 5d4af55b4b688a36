// opyard/detail/python/clear.h: clearing an expected exception, and no other.
//
// What fails as it may is one type of exception. Whatever else is set there, such as
// KeyboardInterrupt, MemoryError or what a user's code raised, has to reach somebody. This is the
// one place that calls PyErr_Clear(), see tools/lint.py.
//
// Depends on: python/python.h.
#pragma once

#include "opyard/detail/python/python.h"

namespace opyard::python {

// Clears the exception that is set if it is of this type; false if it is another one, or none.
inline bool clear_if(PyObject* type) noexcept {
  if (PyErr_ExceptionMatches(type) == 0) return false;
  PyErr_Clear();
  return true;
}

// The same if nothing can be raised, as beside an exception that is on its way: any other one is
// reported to sys.unraisablehook. Nothing is set afterwards.
inline void clear_or_report(PyObject* type, PyObject* where = nullptr) noexcept {
  if (PyErr_Occurred() != nullptr && !clear_if(type)) PyErr_WriteUnraisable(where);
}

}  // namespace opyard::python
