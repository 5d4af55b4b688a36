// opyard/detail/python/look_up.h: attribute and item look-ups that keep errors.
//
// CPython's PyDict_GetItemString(), PyObject_HasAttrString() and their like answer "no" to any
// exception, such as a lack of memory or KeyboardInterrupt, and lose it; tools/lint.py refuses
// them.
//
// With the GIL held. Depends on: python/clear.h.
#pragma once

#include "opyard/detail/python/python.h"

#include "opyard/detail/python/clear.h"

namespace opyard::python {

// A dictionary's item, borrowed. Null if there is none, and then an exception is set if it could
// not be found out.
inline PyObject* find_item(PyObject* dictionary, const char* name) noexcept {
  PyObject* const key = PyUnicode_FromString(name);
  if (key == nullptr) return nullptr;
  PyObject* const found = PyDict_GetItemWithError(dictionary, key);
  Py_DECREF(key);
  return found;
}

// 1 or 0; -1 with an exception set.
inline int has_attribute(PyObject* object, const char* name) noexcept {
  PyObject* const found = PyObject_GetAttrString(object, name);
  if (found == nullptr) return clear_if(PyExc_AttributeError) ? 0 : -1;
  Py_DECREF(found);
  return 1;
}

}  // namespace opyard::python
