// objects/arrays/dlpack_source.h: DLPack capsules, and arrays that are handed out.
//
// [Names] A capsule's name says its form and whether it was consumed. The code that takes the
// struct out renames the capsule first; a capsule that dies with its first name gives the struct
// back.
//
//   "dltensor"            -> "used_dltensor"             DLManagedTensor
//   "dltensor_versioned"  -> "used_dltensor_versioned"   DLManagedTensorVersioned
//
// [Strides] DLPack knows strides below zero, and so does the core. In Python tensors run forwards,
// whichever way they came: slicing, from_numpy() and from_dlpack() refuse them alike, and
// opyard.tensor() copies such arrays. The stride of a dimension of size 0 or 1 has no effect, and
// becomes 1.
//
// Messages begin with `what`, such as "from_dlpack: ". Everything with the GIL held.
//
// Depends on: runtime/runtime.h, tensor/dlpack_exchange.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/tensor/dlpack_exchange.h"

namespace opyard::python {

// See [Names].
template <typename Managed>
struct DLPackForm;
template <>
struct DLPackForm<dlpack::DLManagedTensor> {
  static constexpr const char* kName = "dltensor";
  static constexpr const char* kUsed = "used_dltensor";
};
template <>
struct DLPackForm<dlpack::DLManagedTensorVersioned> {
  static constexpr const char* kName = "dltensor_versioned";
  static constexpr const char* kUsed = "used_dltensor_versioned";
};

// A tensor on the memory of a capsule, which is used up. Raises what the core's from_dlpack()
// raises, after which the struct was given back; `read_only` is for what it does not say; BadValue
// for a capsule that was used up already and BadArgument for another one. Throws PythonErrorSet.
Tensor take_capsule(Runtime& runtime, PyObject* capsule, const char* what, bool read_only = false);

// The same for what the object's __dlpack__ gives. Throws PythonErrorSet with what that raises.
Tensor take_from_method(Runtime& runtime, PyObject* source, const char* what);

// The same by the exchange table of the object's type. What the table raises as RuntimeError
// becomes BadValue with its first line.
Tensor take_from_table(Runtime& runtime, const dlpack::DLPackExchangeAPI& table, PyObject* source,
                       const char* what);

// What those two ask for: the capsule, and the struct itself, which the caller gives back. Raise
// likewise.
Owned ask_method(Runtime& runtime, PyObject* source, const char* what);
dlpack::DLManagedTensorVersioned* ask_table(const dlpack::DLPackExchangeAPI& table,
                                            PyObject* source, const char* what);

// What the buffer of an array says that has one. Capsules from before DLPack 1.0 cannot say it, and
// those of JAX are such.
bool has_read_only_buffer(PyObject* array);

// A tensor on the same memory that refuses to be written.
Tensor as_read_only(Tensor tensor);

// See [Strides]. Raises BadValue.
Tensor require_forwards(Tensor tensor, const char* what);

}  // namespace opyard::python
