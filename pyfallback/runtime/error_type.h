// runtime/error_type.h: the Python exception of each kind of error, from base/error_kinds.def.
//
// Both extension modules use it, so it is apart from what only _C has.
//
// Depends on: python/clear.h, base/error.h, interpreter/{error_class,interpreter_exception}.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <string_view>

#include "opyard/base/error.h"
#include "opyard/detail/python/clear.h"
#include "opyard/interpreter/error_class.h"
#include "opyard/interpreter/interpreter_exception.h"

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

// Adds a note to the exception that is set, unless it has the same. If that is not possible it is
// left out: the exception itself matters more.
inline void add_note(std::string_view text) noexcept {
  PyObject* const current = take_exception();
  PyObject* notes = PyObject_GetAttrString(current, "__notes__");
  if (notes == nullptr) {
    notes = clear_if(PyExc_AttributeError) ? PyList_New(0) : nullptr;
    if (notes != nullptr) PyObject_SetAttrString(current, "__notes__", notes);
  }
  PyObject* const note =
      PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "backslashreplace");
  if (notes != nullptr && note != nullptr && PyList_Check(notes) &&
      PySequence_Contains(notes, note) == 0) {
    PyList_Append(notes, note);
  }
  Py_XDECREF(note);
  Py_XDECREF(notes);
  clear_or_report(PyExc_Exception, current);
  restore_exception(current);
}

// Lines that C++ code added to an exception on its way become notes of it. With that exception set.
inline void note_context(const CarriedException& carried, std::string_view text) noexcept {
  const auto* const exception = dynamic_cast<const InterpreterException*>(&carried);
  if (exception == nullptr || exception->text().empty()) return;
  if (!text.starts_with(exception->text())) return;
  text.remove_prefix(exception->text().size());
  if (text.empty()) return;
  text.remove_prefix(1);  // the end of the line before
  add_note(text);
}

// Says on the exception that is set of which kind its Error is: several kinds have one class.
inline constexpr const char* kErrorKindAttribute = "__opyard_error__";
inline void note_kind(ErrorKind kind) noexcept {
  PyObject* const current = take_exception();
  PyObject* const name = PyUnicode_FromString(name_of(kind));
  if (name != nullptr) PyObject_SetAttrString(current, kErrorKindAttribute, name);
  Py_XDECREF(name);
  clear_or_report(PyExc_Exception, current);
  restore_exception(current);
}

// Sets the Python exception of an Error: the object that it carries, else one of its kind.
// With the GIL held.
inline void set_python_error(const Error& error) noexcept {
  const CarriedException* const carried = error.carried().get();
  if (const auto* const named = dynamic_cast<const NamedError*>(carried)) {
    if (named->raise_with_lock_held(error.what())) return;
  } else if (carried != nullptr && carried->restore_with_lock_held()) {
    return note_context(*carried, error.what());
  }
  set_exception(exception_type(error.kind()), error.what());
  note_kind(error.kind());
}

}  // namespace opyard::python
