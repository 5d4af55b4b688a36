// kernels/results.h: results of Python functions as values.
//
// [Results] Nothing for `-> ()`, the value for one result, a tuple or list for several. Number
// and types are checked; the error names the operator, who returned it, and the position.
//
// Depends on: registry/operator.h.
#pragma once

#include "runtime/runtime.h"

#include <string>

#include "opyard/registry/operator.h"
#include "opyard/value/stack.h"

namespace opyard::python {

// Who returned something: put into words only if it does not fit.
struct Returner {
  std::string (*describe)(const void* who);  // "the Python kernel registered at demo.py:12"
  const void* who;
  // Its results that are arguments are those, whatever it returned for them: of a handler, see
  // kernels/aliased_results.h.
  bool returns_arguments = false;

  std::string text() const { return describe(who); }
};

// Puts what `object` stands for on the stack. Raises BadReturn if it does not fit the schema,
// and what the conversion raises. With the GIL held.
void push_results(Runtime& runtime, const Returner& returner, const Operator& op, PyObject* object,
                  Stack& stack);

}  // namespace opyard::python
