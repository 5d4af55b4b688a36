// tracer/attributes.h: attribute look-up by interned names.
//
// CPython's cache of what types have keeps a reference to each string that it was asked for, in a
// place that depends on the string's address. PyObject_GetAttrString() makes a new string at each
// call: it would stay there, and displace what the program has asked for. So the tracer asks by
// interned strings.
//
// Threads: with the GIL held. Depends on: python/python.h.
#pragma once

#include "opyard/detail/python/python.h"

namespace opyard::python {

// A new reference, or null with an exception set.
inline PyObject* attribute_of(PyObject* object, const char* name) noexcept {
  PyObject* const interned = PyUnicode_InternFromString(name);
  PyObject* const value = interned == nullptr ? nullptr : PyObject_GetAttr(object, interned);
  Py_XDECREF(interned);
  return value;
}

// Likewise what a method returns.
template <typename... Objects>
PyObject* call_method(PyObject* object, const char* name, Objects*... arguments) noexcept {
  PyObject* const interned = PyUnicode_InternFromString(name);
  if (interned == nullptr) return nullptr;
  PyObject* const result = PyObject_CallMethodObjArgs(object, interned, arguments..., nullptr);
  Py_DECREF(interned);
  return result;
}

}  // namespace opyard::python
