// tracer/border.h: the border between Python and the profiler's library.
//
// `_tracer` is an extension of its own, and compiles nothing of runtime/ in. What it lets out is a
// Python exception; what it raises itself is set already and leaves as PythonErrorSet.
//
// Depends on: python/python.h, base/error.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <cxxabi.h>

#include <memory>
#include <new>
#include <utility>

#include "opyard/base/error.h"

namespace opyard::python {

struct PythonErrorSet {};

// A reference of the tracer's own; given up with the GIL held.
struct ReleaseObject {
  template <typename Object>
  void operator()(Object* object) const noexcept {
    Py_DECREF(object);
  }
};
using HeldObject = std::unique_ptr<PyObject, ReleaseObject>;
using HeldFrame = std::unique_ptr<PyFrameObject, ReleaseObject>;

void set_tracer_error(const Error& error);

// Runs the body of a function that Python calls; gives `failed` with an exception set if it throws.
template <typename Result, typename Body>
Result enter_tracer(Result failed, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (abi::__forced_unwind&) {
    throw;  // the thread is being ended
  } catch (const PythonErrorSet&) {
  } catch (const Error& error) {
    set_tracer_error(error);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "something was thrown that is no std::exception");
  }
  return failed;
}
template <typename Body>
PyObject* enter_tracer(Body&& body) {
  return enter_tracer<PyObject*>(nullptr, std::forward<Body>(body));
}

// A new reference that must not be null.
inline PyObject* checked_new(PyObject* object) {
  if (object == nullptr) throw PythonErrorSet();
  return object;
}

}  // namespace opyard::python
