// opyard/detail/bind/extension.h: extension modules of pybind11 beside _C: what opyard/pybind11.h
// has, results of Python, and functions of the package.
//
// Threads: everything here is called with the GIL held.
//
// Depends on: opyard/pybind11.h.
#pragma once

#include "opyard/detail/bind/pybind11.h"

#include <utility>

#include "opyard/detail/python/exit.h"
#include "opyard/pybind11.h"

namespace opyard::python {

namespace py = pybind11;

inline const PythonTable* main_table = nullptr;

// The table of the interpreter that this thread is in. Raises what importing opyard raises.
inline const PythonTable& table() { return python_table(); }

// What a call of Python gave, or the exception that it left.
inline py::object take_result(PyObject* result) {
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

// What a function of the package gives for the arguments, by the name that opyard/detail/doors.def
// has for it: modules of the package are above extension modules.
template <typename... Args>
py::object ask_hook(const char* name, Args&&... args) {
  return py::module_::import("opyard._core").attr("hooks")[name](std::forward<Args>(args)...);
}

// First of all in a module of the package: errors, and references that threads give back while the
// main interpreter ends, whose end is the end of Python.
inline void use_table_of_errors() {
  register_exception_translator();
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) return;
  main_table = &table();
  drop_without_gil = [](PyObject* object) noexcept { main_table->drop(main_table, object); };
}

}  // namespace opyard::python
