// operators/op_caller.h: an object whose calls are those of one operator.
//
// The base of what library.custom_op() gives: a class of Python that is called at the price of the
// operator itself, as its __call__ would cost more than the dispatch.
//
// Depends on: runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

namespace opyard::python {

void add_op_caller_type(PyObject* module);

}  // namespace opyard::python
