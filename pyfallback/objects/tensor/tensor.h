// objects/tensor/tensor.h: the Python face of a tensor.
//
// A wrapper holds one Tensor. While it lives the TensorImpl's object link leads back to it, so
// wrapping the same tensor twice gives the same object. Where Python lets go of one that must not
// be lost while C++ owners are left, the tensor keeps the wrapper instead:
// objects/tensor/tensor_life.cpp. Exact wrappers come from, and go back to, a free list of the
// interpreter.
//
// Depends on: runtime/runtime.h, tensor/tensor.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/tensor.h"

namespace opyard::python {

struct TensorObject {
  PyObject_HEAD Tensor tensor;  // undefined exactly where the tensor keeps the wrapper
  TensorImpl* keeper;           // that tensor, else null
  Runtime* runtime;
  PyObject* weak_references;
  PyObject* attributes;  // a dictionary, or null
  bool finalized;        // the class's own __del__ has run
};

// Whether an object is a Tensor, exactly or by subclass. One that has no other bases has Tensor
// last but one in the order of its bases; only for others that order is searched.
inline bool is_tensor(const Runtime& runtime, PyObject* object) noexcept {
  PyTypeObject* const type = Py_TYPE(object);
  if (type == runtime.tensor_type) return true;
  PyObject* const order = type->tp_mro;
  if (__builtin_expect(order == nullptr, 0)) return false;
  const Py_ssize_t count = PyTuple_GET_SIZE(order);
  return (count >= 2 &&
          PyTuple_GET_ITEM(order, count - 2) == reinterpret_cast<PyObject*>(runtime.tensor_type)) ||
         PyType_IsSubtype(type, runtime.tensor_type) != 0;
}

// Makes a wrapper that its tensor owned an owner again, as it was reached from Python.
void take_back_from_tensor(TensorObject& wrapper) noexcept;

// The tensor of a wrapper. The caller has asked is_tensor().
inline const Tensor& tensor_unchecked(PyObject* object) noexcept {
  TensorObject& wrapper = *reinterpret_cast<TensorObject*>(object);
  if (__builtin_expect(!wrapper.tensor.defined(), 0)) take_back_from_tensor(wrapper);
  return wrapper.tensor;
}
// Of an instance of a subclass as well, whose type does not lead to the module.
inline Runtime& runtime_of_tensor(PyObject* object) noexcept {
  return *reinterpret_cast<TensorObject*>(object)->runtime;
}

// The wrapper of a tensor: the live one, or a new one. None for the undefined tensor. Raises
// InterpreterGone for a tensor of another interpreter. With the GIL held.
PyObject* wrap_reference(Runtime& runtime, Tensor&& tensor);  // owned by the caller
inline Owned wrap(Runtime& runtime, Tensor&& tensor) {
  return Owned::steal(wrap_reference(runtime, std::move(tensor)));
}
// The live wrapper that owns its tensor, borrowed; null if there is none, or if wrap() has
// more to do. Raises InterpreterGone for a tensor of another interpreter.
inline PyObject* find_wrapper(const Runtime& runtime, const Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  const ObjectLink& link = tensor.impl()->object_link();
  auto* const live = static_cast<TensorObject*>(link.object(runtime.tag));
  if (live == nullptr || link.owns_object() || Py_REFCNT(live) <= 0 || live->finalized)
    return nullptr;
  return reinterpret_cast<PyObject*>(live);
}
inline Owned wrap(Runtime& runtime, const Tensor& tensor) {  // without counting, if it has one
  if (PyObject* const live = find_wrapper(runtime, tensor)) return Owned::share(live);
  return wrap(runtime, Tensor(tensor));
}
// A new wrapper of this subclass of Tensor. Raises BadArgument if the tensor has a wrapper.
Owned wrap_as(Runtime& runtime, PyTypeObject* type, Tensor tensor);

// A tensor of that class on the memory of another one. A class with a handler gives it the key
// Python.
Owned make_instance(Runtime& runtime, PyTypeObject* type, const Tensor& data);

// Makes the type and puts it into the runtime. With the GIL held; throws PythonErrorSet.
void add_tensor_type(Runtime& runtime, PyObject* module);
// Frees what the type keeps beside itself: dead wrappers, packets. When the module ends.
void drop_tensor_caches(Runtime& runtime) noexcept;

}  // namespace opyard::python
