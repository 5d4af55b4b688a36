// opyard/detail/bind/pybind11.h: pybind11, and exceptions and exit in its calls.
//
// Before CPython 3.12 pybind11 takes the GIL by PyGILState_Ensure(), which knows one thread state a
// thread: in a further interpreter that thread would wait for itself for ever. All of this folder
// is called with the GIL held, so nothing is to be taken there; and pybind11 has one state for each
// interpreter, as it has by itself from 3.12 on.
//
// For each argument that a call gives by name, pybind11 makes a str of the name, and goes on
// without one if there is no memory for it: interned() raises instead. Before 3.12 an exception is
// completed when it is fetched; if there is no memory for it, it becomes a MemoryError, in which
// pybind11 sees a fault ("MISMATCH"): fetch_completed() gives it one that needs no more. What
// converts arguments runs code of theirs, such as an __index__, which may lead back here: each
// function begins with a look at what is left of the C stack, in enter_fast().
//
// A thread that is ended while Python ends leaves C++ without the GIL (python/exit.h, [Exit]), and
// destructors of pybind11's objects on its way give references back: drop_object() has this done by
// the table of the interpreter then, which puts them aside.
//
// Depends on: runtime/{python,stack_end}.h.
#pragma once

#include "opyard/detail/python/python.h"
#include "opyard/detail/python/stack_end.h"

#if OPYARD_INTERPRETERS_SHARE_THE_GIL
#define PYBIND11_HAS_SUBINTERPRETER_SUPPORT 1
#define PYBIND11_SIMPLE_GIL_MANAGEMENT
#define PyGILState_Ensure() PyGILState_LOCKED
#define PyGILState_Release(state) static_cast<void>(state)
#endif

namespace opyard::python {

inline PyObject* interned(const char* text);

// Gives a reference back on a thread that may not hold the GIL any more. Set by extension.h in
// the main interpreter.
inline void (*drop_without_gil)(PyObject* object) noexcept = nullptr;

inline void drop_object(PyObject* object) noexcept {
  if (object == nullptr) return;
  if (__builtin_expect(is_finalizing(), 0) && drop_without_gil != nullptr) {
    drop_without_gil(object);
  } else {
    Py_DECREF(object);
  }
}

// PyErr_Fetch() of an exception that is complete: `*value` is of `*type`, whatever it took to make.
inline void fetch_completed(PyObject** type, PyObject** value, PyObject** traceback) {
  PyErr_Fetch(type, value, traceback);
  if (*type != nullptr) PyErr_NormalizeException(type, value, traceback);
}

// What pybind11 makes of a function: its own, behind a look at the stack. All functions of a module
// have the same one of its own, by the convention that its version uses.
inline PyCFunction plain_function = nullptr;

inline PyObject* enter_fast(PyObject* self, PyObject* const* args, Py_ssize_t count,
                            PyObject* names) {
  if (is_stack_at_its_end()) return nullptr;
  const auto plain =
      reinterpret_cast<_PyCFunctionFastWithKeywords>(reinterpret_cast<void (*)()>(plain_function));
  return plain(self, args, count, names);
}
inline PyObject* enter_tuple(PyObject* self, PyObject* args, PyObject* names) {
  if (is_stack_at_its_end()) return nullptr;
  const auto plain =
      reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(plain_function));
  return plain(self, args, names);
}
inline PyObject* make_function(PyMethodDef* definition, PyObject* self, PyObject* module) {
  plain_function = definition->ml_meth;
  definition->ml_meth =
      (definition->ml_flags & METH_FASTCALL) != 0
          ? reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(enter_fast))
          : reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(enter_tuple));
  return PyCMethod_New(definition, self, module, nullptr);
}

}  // namespace opyard::python

#undef PyCFunction_NewEx
#define PyCFunction_NewEx(definition, self, module) \
  ::opyard::python::make_function(definition, self, module)
#define PyUnicode_InternFromString(text) ::opyard::python::interned(text)
#if PY_VERSION_HEX < 0x030C0000
#define PyErr_Fetch(type, value, traceback) \
  ::opyard::python::fetch_completed(type, value, traceback)
#endif
#pragma push_macro("Py_DECREF")
#pragma push_macro("Py_XDECREF")
#undef Py_DECREF
#undef Py_XDECREF
#define Py_DECREF(object) ::opyard::python::drop_object(reinterpret_cast<PyObject*>(object))
#define Py_XDECREF(object) ::opyard::python::drop_object(reinterpret_cast<PyObject*>(object))
#include <pybind11/pybind11.h>  // IWYU pragma: export
#include <pybind11/stl.h>       // IWYU pragma: export
#pragma pop_macro("Py_XDECREF")
#pragma pop_macro("Py_DECREF")
#undef PyUnicode_InternFromString
#undef PyErr_Fetch
#undef PyCFunction_NewEx

namespace opyard::python {

inline PyObject* interned(const char* text) {
  PyObject* const made = PyUnicode_InternFromString(text);
  if (made == nullptr) throw pybind11::error_already_set();
  return made;
}

}  // namespace opyard::python
