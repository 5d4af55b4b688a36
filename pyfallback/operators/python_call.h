// operators/python_call.h: the arguments and the stack of one call from Python.
//
// Depends on: objects/arrays/foreign_array.h, value/stack.h.
#pragma once

#include "runtime/runtime.h"

#include <memory>
#include <vector>

#include "objects/arrays/foreign_array.h"
#include "opyard/value/stack.h"

namespace opyard::python {

// Room on the C stack for the arguments or results of most operators.
using CallStack = InlineStack<12>;

struct PythonCall {
  PythonCall(Runtime& interpreter, const GivenArguments& given) noexcept
      : runtime(interpreter), arrays(given) {}
  const GivenArguments& given() const noexcept { return arrays.given(); }

  // Each level of nested calls has all of it on the C stack (test_depth.py).
  Runtime& runtime;
  ForeignArguments arrays;  // what was given, and the arrays among it
  // Tensors made of numbers; null without any.
  std::unique_ptr<std::vector<Owned>> numbers;
  CallStack stack;  // what was bound, later the results
};

}  // namespace opyard::python
