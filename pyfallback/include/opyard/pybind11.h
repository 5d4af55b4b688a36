// opyard/pybind11.h: tensors and errors of Opyard in extension modules that are made with pybind11.
//
//   PYBIND11_MODULE(demo, m) {
//     opyard::register_exception_translator();                 // first of all
//     m.def("twice", [](const opyard::Tensor& x) { return …; });
//     m.def("warns", opyard::python_call(&warns));
//   }
//
// Functions take and give opyard::Tensor, also in std::optional and containers (pybind11/stl.h),
// without a copy. A parameter accepts a Tensor, an instance of a subclass and, unless it is
// py::arg().noconvert(), an array of another library; None it refuses. A result is the same Python
// object as before if the tensor had one; an undefined tensor is None.
//
// From CPython 3.12 on all of it works in each interpreter that imports the module, by the table of
// that one; whether others than the main one may is said by pybind11's tag
// py::multiple_interpreters. Before 3.12 pybind11 knows one interpreter, and in another one its
// calls from threads of C++ wait for ever.
//
// Threads: everything here is called with the GIL held. For what is not, such as taking the GIL on
// a thread of C++, the functions of opyard/python.h take opyard::python_table().
// docs/guides/extensions.md is the guide.
//
// Depends on: opyard/python.h, pybind11 3.
#pragma once

#include "opyard/python.h"

#include <pybind11/pybind11.h>

#include <cxxabi.h>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "opyard/base/error.h"
#include "opyard/schema/type.h"
#include "opyard/tensor/tensor.h"
#include "opyard/value/value.h"

namespace opyard {

// The table of the interpreter that this thread is in. Throws what importing opyard raises.
// Interpreters are told apart by their numbers, which are never given out again, as addresses are.
inline const PythonTable& python_table() {
  thread_local std::int64_t interpreter = -1;
  thread_local const PythonTable* known = nullptr;
  const std::int64_t current = PyInterpreterState_GetID(PyInterpreterState_Get());
  if (current != interpreter) {
    const PythonTable* const found = import_python_table();
    if (found == nullptr) throw pybind11::error_already_set();
    known = found;
    interpreter = current;
  }
  return *known;
}

// Has this module's functions raise the Python exception of each kind of Error, or the very one
// that it carries; and MemoryError where pybind11 has no memory ("Could not allocate ..."). An
// opyard of another version is refused here, once.
inline void register_exception_translator() {
  pybind11::register_local_exception_translator([](std::exception_ptr exception) {
    try {
      std::rethrow_exception(std::move(exception));
    } catch (const Error& error) {
      const PythonTable& table = python_table();
      table.raise(&table, &error);
    } catch (const std::runtime_error&) {
      if (PyErr_ExceptionMatches(PyExc_MemoryError) == 0) throw;
    }
  });
  python_table();
}

namespace detail {

// Drops the exception that is set if it is of this type, else throws it.
inline void forgive_exception(PyObject* type) {
  pybind11::error_already_set failed;
  if (!failed.matches(type)) throw failed;
}

// Ends a call that a C++ exception leaves. Python's exception that is set is not lost, such as the
// MemoryError beside "Could not allocate ..."; if none is set, one is meanwhile. So end_call() says
// a warning, and gives up what a filter makes of it.
inline void end_failed_call(const PythonTable& table, PythonScope& scope) noexcept {
  const bool none_is_set = PyErr_Occurred() == nullptr;
  if (none_is_set) PyErr_SetNone(PyExc_RuntimeError);
  table.end_call(&table, &scope);
  if (!none_is_set) return;
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
}

template <typename F, typename Signature>
class PythonCall;
template <typename F, typename R, typename... A>
class PythonCall<F, R(A...)> {
 public:
  explicit PythonCall(F function) : function_(std::move(function)) {}

  R operator()(A... arguments) {
    const PythonTable& table = python_table();
    PythonScope scope;
    table.begin_call(&table, &scope);
    if constexpr (std::is_void_v<R>) {
      run(table, scope, arguments...);
      end(table, scope);
    } else {
      R result = run(table, scope, arguments...);
      end(table, scope);
      return std::forward<R>(result);
    }
  }

 private:
  OPYARD_CATCHES_FORCED_UNWIND R run(const PythonTable& table, PythonScope& scope,
                                     A&... arguments) {
    try {
      return function_(std::forward<A>(arguments)...);
    } catch (abi::__forced_unwind&) {
      throw;  // a thread being ended leaves without the GIL
    } catch (...) {
      end_failed_call(table, scope);
      throw;
    }
  }
  static void end(const PythonTable& table, PythonScope& scope) {
    if (table.end_call(&table, &scope) != 0) throw pybind11::error_already_set();
  }

  F function_;
};

}  // namespace detail

// A function for m.def() whose calls are whole calls from Python, as those of operators are:
// warnings of C++ code wait until it has ended, and never hide its error, also if a filter makes
// errors of warnings. For a function that warns, or that calls Python from many places. Without it
// warn() throws what a filter makes of the warning.
template <typename F>
auto python_call(F&& function) {
  using Function = std::decay_t<F>;
  using Signature = pybind11::detail::function_signature_t<Function>;
  return detail::PythonCall<Function, Signature>(std::forward<F>(function));
}

// Runs a body that calls Python within code that is called by operators, graphs or threads of C++:
// what Python raised in it comes out as an Error that carries the very exception, which they know
// how to pass on, and not as pybind11's.
template <typename Body>
decltype(auto) carry_exceptions(Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (pybind11::error_already_set& error) {
    const PythonTable& table = python_table();  // looked for while nothing is set
    error.restore();
    throw_python_exception(table);
  }
}

}  // namespace opyard

namespace pybind11 {
namespace detail {

template <>
struct type_caster<opyard::Tensor> {
  PYBIND11_TYPE_CASTER(opyard::Tensor, const_name("opyard.Tensor"));

  bool load(handle source, bool convert) {
    const opyard::PythonTable& table = opyard::python_table();
    if (const opyard::Tensor* const tensor = table.unwrap_tensor(&table, source.ptr())) {
      value = *tensor;
      return true;
    }
    opyard::detail::forgive_exception(PyExc_TypeError);
    if (!convert || source.is_none()) return false;
    opyard::Value converted;
    const opyard::Type& type = *opyard::base_type(opyard::TypeKind::Tensor);
    if (table.to_value(&table, &type, source.ptr(), "an argument", &converted) != 0) {
      opyard::detail::forgive_exception(PyExc_TypeError);
      return false;
    }
    value = converted.take_tensor();
    return true;
  }

  static handle cast(const opyard::Tensor& source, return_value_policy, handle) {
    const opyard::PythonTable& table = opyard::python_table();
    PyObject* const object = table.wrap_tensor(&table, &source);
    if (object == nullptr) throw error_already_set();
    return object;
  }
};

}  // namespace detail
}  // namespace pybind11
