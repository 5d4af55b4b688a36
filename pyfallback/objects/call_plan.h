// objects/call_plan.h: binding Python arguments to a schema.
//
// A plan is compiled from the schema when the operator's Python object is made: interned
// names, defaults as values, what may be given by position. Binding walks it once, puts the
// arguments straight onto the stack, and builds no dictionary and no tuple.
//
// The texts of failures are kept to the letter, since people match on them.
//
// Depends on: objects/convert.h, registry/operator.h, value/stack.h.
#pragma once

#include "runtime/runtime.h"

#include <optional>
#include <string>
#include <vector>

#include "opyard/registry/operator.h"
#include "opyard/value/stack.h"

namespace opyard::python {

class CallPlan {
 public:
  // With the GIL held; throws PythonErrorSet.
  explicit CallPlan(const Operator& op);

  // Binds vectorcall arguments and pushes one value an argument of the schema. Where they do
  // not fit it gives false, with what was wrong in `why` if that is not null; the stack is then
  // as it was. Throws where a conversion raises. Tensors are lent: the caller's references
  // keep them alive.
  bool bind(Runtime& runtime, PyObject* const* args, Py_ssize_t count, PyObject* names,
            Stack& stack, std::string* why) const;
  // The same, and raises BadArgument (TypeError) where they do not fit, Unsupported for an
  // operator with a variadic schema.
  void require(Runtime& runtime, PyObject* const* args, Py_ssize_t count, PyObject* names,
               Stack& stack) const;

  // The results on top of the stack as one Python object: None, the one, or a tuple of them.
  // Takes them from the stack.
  PyObject* take_results(Runtime& runtime, Stack& stack) const;

  const Operator& op() const noexcept { return op_; }

 private:
  struct Parameter {
    Owned name;
    const Argument* argument;
    bool is_tensor;  // exactly Tensor: the common case
  };

  const Parameter* find(PyObject* name) const;
  std::string explain_variadic() const;
  std::string explain_mismatch(std::size_t position, PyObject* given) const;
  std::string explain_names(Runtime& runtime, Py_ssize_t count, PyObject* names) const;

  const Operator& op_;
  std::vector<Parameter> parameters_;
  // How many arguments may be given by position. A variadic schema has fewer than none, so
  // that the check that each call makes anyway refuses it.
  static constexpr Py_ssize_t kCannotBeCalled = -1;
  Py_ssize_t positional_ = 0;
};

}  // namespace opyard::python
