// objects/tensor/bound_method.h: bound methods of tensors, such as `t.relu`.
//
// It is to people what Python's own bound methods are (__self__, __func__, everything else from the
// function), and takes half the time: dead ones leave their memory to the next, and a call goes on
// to the function without another object in between.
//
// Depends on: runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

namespace opyard::python {

// Throws PythonErrorSet.
void add_bound_method_type(PyObject* module, Runtime& runtime);
// A new reference; null with an exception set if there is no memory.
PyObject* bind_method(Runtime& runtime, PyObject* function, PyObject* self) noexcept;
void drop_free_methods(Runtime& runtime) noexcept;

}  // namespace opyard::python
