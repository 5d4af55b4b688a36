// objects/tensor.h: the Python face of a tensor.
//
// A wrapper holds one Tensor. While it lives the TensorImpl's object slot leads back to it, so
// wrapping the same tensor twice gives the same object. Exact wrappers come from, and go back
// to, a free list of the interpreter.
//
// Depends on: runtime/runtime.h, tensor/tensor.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/tensor.h"

namespace opyard::python {

struct TensorObject {
  PyObject_HEAD Tensor tensor;  // always defined
  PyObject* weak_references;
};

// Whether an object is a Tensor, exactly or by subclass.
inline bool is_tensor(const Runtime& runtime, PyObject* object) noexcept {
  return Py_TYPE(object) == runtime.tensor_type || PyObject_TypeCheck(object, runtime.tensor_type);
}

// The tensor of a wrapper. The caller has asked is_tensor().
inline const Tensor& tensor_unchecked(PyObject* object) noexcept {
  return reinterpret_cast<TensorObject*>(object)->tensor;
}

// The wrapper of a tensor: the live one, or a new one. None for the undefined tensor. Raises
// InterpreterGone for a tensor of another interpreter. With the GIL held.
Owned wrap(Runtime& runtime, Tensor tensor);

// Makes the type and puts it into the runtime. With the GIL held; throws PythonErrorSet.
void add_tensor_type(Runtime& runtime, PyObject* module);
// Frees what the type keeps beside itself: dead wrappers, packets. When the module ends.
void drop_tensor_caches(Runtime& runtime) noexcept;

}  // namespace opyard::python
