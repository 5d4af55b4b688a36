// operators/method_names.h: NumPy's names of arguments in calls of tensors' methods.
//
// t.mean(axis=0, keepdims=True) is t.mean(dim=0, keepdim=True). A name that a schema of the
// operator has is left as it is.
//
// Depends on: runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

namespace opyard::python {

// Interns the names. Throws PythonErrorSet.
void prepare_method_names(Runtime& runtime);

// Calls a method of a tensor with arguments by name, the tensor first. As PyObject_Vectorcall().
PyObject* call_method_by_names(Runtime& runtime, PyObject* function, PyObject* const* args,
                               std::size_t count, PyObject* names);

}  // namespace opyard::python
