// runtime/types.h: making heap types and calling conventions of the raw C API.
//
// Depends on: runtime/errors.h.
#pragma once

#include "runtime/errors.h"

namespace opyard::python {

// Adds a heap type of the runtime to the module, and makes it from its spec if there is none
// yet: a module that is imported again has the types of the first. `type` is a strong
// reference. Throws PythonErrorSet.
inline void add_type(PyObject* module, PyType_Spec& spec, PyTypeObject*& type) {
  if (type == nullptr) {
    type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  }
  if (type == nullptr || PyModule_AddType(module, type) < 0) throw PythonErrorSet();
}

// A slot function of any signature, as PyType_Slot keeps it.
template <typename Function>
void* slot(Function* function) noexcept {
  return reinterpret_cast<void*>(function);
}

// A method of any calling convention, as PyMethodDef keeps it.
template <typename Function>
PyCFunction method(Function* function) noexcept {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// Frees an object of a heap type that was allocated by tp_alloc.
inline void free_object(PyObject* self) noexcept {
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// The UTF-8 text of a str. Throws BadArgument, naming `what`, for anything else.
inline std::string_view require_text(PyObject* object, const char* what) {
  Py_ssize_t size = 0;
  const char* const text =
      PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &size) : nullptr;
  if (text == nullptr) {
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    fail(ErrorKind::BadArgument,
         std::string(what) + " must be a str, not " + Py_TYPE(object)->tp_name);
  }
  return {text, std::size_t(size)};
}

// A text that C++ made. Where it names a file it need not be UTF-8: what is none is shown by its
// escapes.
inline Owned to_text(std::string_view text) {
  PyObject* const object =
      PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "backslashreplace");
  if (object == nullptr) throw PythonErrorSet();
  return Owned::steal(object);
}

// A result that must not be null, in code that Python called.
inline Owned checked(PyObject* object) {
  if (object == nullptr) throw PythonErrorSet();
  return Owned::steal(object);
}

}  // namespace opyard::python
