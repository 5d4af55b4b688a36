// objects/arrays/given_arguments.h: the arguments of a call, as vectorcall passes them.
//
// Depends on: runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

#include <span>

namespace opyard::python {

// Borrowed from the caller, who holds them until the call has
// returned.
struct GivenArguments {
  PyObject* const* values;  // those by position, then those by name
  Py_ssize_t count;         // by position
  PyObject* names;          // a tuple, or null

  Py_ssize_t named() const noexcept { return names == nullptr ? 0 : PyTuple_GET_SIZE(names); }
  std::span<PyObject* const> by_position() const noexcept { return {values, std::size_t(count)}; }
  std::span<PyObject* const> all() const noexcept { return {values, std::size_t(count + named())}; }
  // What was given by this name, or null; only with names. They are interned on both sides almost
  // always, so the first walk compares addresses.
  PyObject* find(PyObject* name) const noexcept {
    for (Py_ssize_t i = 0; i < named(); ++i) {
      if (PyTuple_GET_ITEM(names, i) == name) return values[count + i];
    }
    for (Py_ssize_t i = 0; i < named(); ++i) {
      if (PyUnicode_Compare(PyTuple_GET_ITEM(names, i), name) == 0) return values[count + i];
    }
    return nullptr;
  }
  // Without the first ones.
  GivenArguments behind(Py_ssize_t first) const noexcept {
    return {values + first, count - first, names};
  }
};

}  // namespace opyard::python
