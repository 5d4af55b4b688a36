// opyard/detail/bind/slot.h: exceptions in type slots.
//
// CPython calls slots, and the functions of method descriptors, without pybind11 in between. Only a
// result may leave them, or null with an exception of Python set; a C++ exception would end the
// process. The first thing that may fail is looking for the table, on each thread anew.
//
// Depends on: bind/extension.h.
#pragma once

#include "opyard/detail/bind/extension.h"

#include <exception>
#include <new>
#include <utility>

namespace opyard::python {

// The C++ object of an instance, or null if __init__ did not run. The type has been checked by
// CPython.
template <typename T>
T* find_held(PyObject* self) noexcept {
  auto* const instance = reinterpret_cast<py::detail::instance*>(self);
  void* const* const values = instance->simple_layout ? instance->simple_value_holder
                                                      : instance->nonsimple.values_and_holders;
  return values == nullptr ? nullptr : static_cast<T*>(values[0]);
}

// Runs body(table), which gives a new reference, or null with an exception set.
template <typename Body>
PyObject* in_slot(Body&& body) {
  const PythonTable* known = nullptr;
  try {
    known = &table();
    return std::forward<Body>(body)(*known);
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const Error& error) {
    known->raise(known, &error);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    // Also what pybind11 throws for want of memory, which leaves MemoryError set.
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

}  // namespace opyard::python
