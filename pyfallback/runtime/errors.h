// runtime/errors.h: exceptions across the border, both ways, as themselves.
//
//   Python -> C++   throw_python_error() takes the exception that is set and throws an Error
//                   of kind Python that carries the very object.
//   C++ -> Python   enter_from_python() runs a body and turns what it throws into the Python
//                   exception of its kind; a carried object is set again as it was, with its
//                   traceback.
//
// Both look at what C++ code left to be done, on the way out: runtime/deferred_work.h.
//
// Depends on: runtime/{runtime,error_type,deferred_work}.h.
#pragma once

#include "runtime/runtime.h"

#include <cxxabi.h>

#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "runtime/deferred_work.h"
#include "runtime/error_type.h"

namespace opyard::python {

// Says that a Python exception is set already: what the body of a border function throws to
// leave. Never crosses into libopyard.
struct PythonErrorSet {};

// A Python exception as a C++ one that carries it. With the GIL held.
Error to_error(Runtime& runtime, Owned exception);
// The Python exception that an Error carries, borrowed; null if it is of another language.
PyObject* find_exception(const CarriedException& carried) noexcept;

// Makes a Python class the one of the errors that C++ calls by a name. Throws BadArgument for what
// is no class of exceptions, BadRegistration where another class has the name.
void put_error_class(Runtime& runtime, PyObject* name, PyObject* type);
// A handler for NamedError::set_raise().
bool raise_named_error(const std::string& name, std::string_view message) noexcept;

// Sets a MemoryError, with the text of an allocation that says what it was.
void set_memory_error(const std::bad_alloc& error) noexcept;

// Turns the Python exception that is set into a C++ one. With the GIL held.
[[noreturn]] void throw_python_error(Runtime& runtime);

// A result of a Python API call that must not be null. With the GIL held.
inline Owned require(Runtime& runtime, PyObject* result) {
  if (result == nullptr) throw_python_error(runtime);
  return Owned::steal(result);
}

// Runs the body of a function that Python calls; gives `failed` with an exception set where
// it throws. The forced unwinding of a thread passes through.
template <typename Result, typename Body>
OPYARD_CATCHES_FORCED_UNWIND Result enter_from_python(Result failed, Body&& body) {
  try {
    Result result = std::forward<Body>(body)();
    if (__builtin_expect(has_deferred_work(), 0) && !do_deferred_work()) {
      if constexpr (std::is_same_v<Result, PyObject*>) Py_XDECREF(result);
      return failed;
    }
    return result;
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (const PythonErrorSet&) {
  } catch (const Error& error) {
    set_python_error(error);
  } catch (const std::bad_alloc& error) {
    set_memory_error(error);
  } catch (const std::exception& error) {
    set_exception(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "something was thrown that is no std::exception");
  }
  if (__builtin_expect(has_deferred_work(), 0)) do_deferred_work();
  return failed;
}
template <typename Body>
PyObject* enter_from_python(Body&& body) {
  return enter_from_python<PyObject*>(nullptr, std::forward<Body>(body));
}

}  // namespace opyard::python
