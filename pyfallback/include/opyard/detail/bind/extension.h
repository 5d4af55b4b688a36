// opyard/detail/bind/extension.h: extension modules of pybind11 beside _C: the table of _C for
// this thread's interpreter, C++ errors, results of Python, and functions of the package.
//
// Threads: everything here is called with the GIL held.
//
// Depends on: opyard/python.h.
#pragma once

#include "opyard/detail/bind/pybind11.h"

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <utility>

#include "opyard/base/error.h"
#include "opyard/detail/python/exit.h"
#include "opyard/python.h"

namespace opyard::python {

namespace py = pybind11;

inline const PythonTable* main_table = nullptr;

// The table of the interpreter that this thread is in. Raises what importing opyard raises.
// Interpreters are told apart by their numbers, which are never given out again, as addresses are.
inline const PythonTable& table() {
  thread_local std::int64_t interpreter = -1;
  thread_local const PythonTable* known = nullptr;
  const std::int64_t current = PyInterpreterState_GetID(PyInterpreterState_Get());
  if (current != interpreter) {
    const PythonTable* const found = import_python_table();
    if (found == nullptr) throw py::error_already_set();
    if (current == 0) {  // the main one, whose end is the end of Python
      main_table = found;
      drop_without_gil = [](PyObject* object) noexcept { main_table->drop(main_table, object); };
    }
    known = found;
    interpreter = current;
  }
  return *known;
}

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

// Errors of C++ become the exceptions of Python that _C makes of them; and what pybind11 raises for
// want of memory ("Could not allocate ...") stays MemoryError. First of all in a module: another
// version of Opyard is refused here, once.
inline void use_table_of_errors() {
  py::register_local_exception_translator([](std::exception_ptr exception) {
    try {
      std::rethrow_exception(std::move(exception));
    } catch (const Error& error) {
      table().raise(&table(), &error);
    } catch (const std::runtime_error&) {
      if (PyErr_ExceptionMatches(PyExc_MemoryError) == 0) throw;
    }
  });
  table();
}

}  // namespace opyard::python
