// runtime/error_type.h: the Python exception of each kind of error, from base/error_kinds.def.
//
// Both extension modules use it, so it stands apart from what only _C has.
//
// Depends on: runtime/python.h, base/error.h.
#pragma once

#include "runtime/python.h"

#include <string_view>

#include "opyard/base/error.h"

namespace opyard::python {

// Borrowed.
inline PyObject* exception_type(ErrorKind kind) noexcept {
  switch (kind) {
#define OPYARD_ERROR_KIND(name, python, meaning) \
  case ErrorKind::name:                          \
    return PyExc_##python;
#include "opyard/base/error_kinds.def"
#undef OPYARD_ERROR_KIND
  }
  return PyExc_RuntimeError;
}

// Sets an exception with a text that C++ code made, which need not be UTF-8.
inline void set_exception(PyObject* type, std::string_view text) noexcept {
  PyObject* const message =
      PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "backslashreplace");
  if (message == nullptr) return;  // MemoryError is set
  PyErr_SetObject(type, message);
  Py_DECREF(message);
}

// Sets the Python exception of an Error: the object that it carries, else one of its kind.
// With the GIL held.
inline void set_python_error(const Error& error) noexcept {
  if (error.carried() && error.carried()->restore_with_lock_held()) return;
  set_exception(exception_type(error.kind()), error.what());
}

}  // namespace opyard::python
