// bind/pybind11.h: pybind11 as this folder includes it.
//
// Before CPython 3.12 pybind11 takes the GIL by PyGILState_Ensure(), which knows one thread state a
// thread: in a further interpreter that thread would wait for itself for ever. All of this folder
// is called with the GIL held, so nothing is to be taken there; and pybind11 has one state for each
// interpreter, as it has by itself from 3.12 on.
//
// For each argument that a call gives by name, pybind11 makes a str of the name, and goes on
// without one if there is no memory for it: interned() raises instead.
//
// Depends on: runtime/python.h.
#pragma once

#include "runtime/python.h"

#if OPYARD_INTERPRETERS_SHARE_THE_GIL
#define PYBIND11_HAS_SUBINTERPRETER_SUPPORT 1
#define PYBIND11_SIMPLE_GIL_MANAGEMENT
#define PyGILState_Ensure() PyGILState_LOCKED
#define PyGILState_Release(state) static_cast<void>(state)
#endif

namespace opyard::python {

inline PyObject* interned(const char* text);

}  // namespace opyard::python

#define PyUnicode_InternFromString(text) ::opyard::python::interned(text)
#include <pybind11/pybind11.h>  // IWYU pragma: export
#include <pybind11/stl.h>       // IWYU pragma: export
#undef PyUnicode_InternFromString

namespace opyard::python {

inline PyObject* interned(const char* text) {
  PyObject* const made = PyUnicode_InternFromString(text);
  if (made == nullptr) throw pybind11::error_already_set();
  return made;
}

}  // namespace opyard::python
