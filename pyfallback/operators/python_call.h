// operators/python_call.h: one call from Python: its arguments as they are given, and what they became.
//
// Depends on: objects/arrays/foreign_array.h, value/stack.h.
#pragma once

#include "runtime/runtime.h"

#include <memory>
#include <span>
#include <vector>

#include "objects/arrays/foreign_array.h"
#include "opyard/value/stack.h"

namespace opyard::python {

// Arguments as vectorcall passes them. Borrowed from the caller, who holds them until the call has
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

// Room on the C stack for the arguments or results of most operators.
using CallStack = InlineStack<12>;

struct PythonCall {
  PythonCall(Runtime& interpreter, const GivenArguments& arguments) noexcept
      : runtime(interpreter), given(arguments), arrays(arguments.all()) {}

  Runtime& runtime;
  const GivenArguments given;
  ForeignArguments arrays;  // that are among them
  // Tensors that stand for numbers; null for none. One word, since each level of nested calls has
  // it on the C stack.
  std::unique_ptr<std::vector<Owned>> numbers;
  CallStack stack;  // what was bound, later the results
};

}  // namespace opyard::python
