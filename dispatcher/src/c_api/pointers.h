// c_api/pointers.h: pointers and values of the C API as C++ types.
//
//   opyard_tensor*      a TensorImpl, seen as Counted
//   opyard_error*       an ErrorObject, seen as Counted
//   opyard_operator*    an Operator
//   opyard_library*     a Library
//   opyard_loan*        a Loan
//   opyard_stack*       a window over a Stack: c_api/stack.h
//   opyard_value        the kind and the payload of a Value, without an owner
//
// Depends on: opyard/c_api.h, registry/operator.h, registry/library.h, tensor/dlpack.h.
#pragma once

#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "opyard/c_api.h"
#include "opyard/registry/library.h"
#include "opyard/registry/operator.h"
#include "opyard/tensor/dlpack.h"

namespace opyard::c_api {

// The body of every function here: a status, and never an exception.
template <typename Body>
int border(Body&& body) {
  return int(guarded(std::forward<Body>(body)));
}

[[noreturn]] OPYARD_COLD void refuse_null(const char* what);
template <typename T>
T* require(T* pointer, const char* what) {
  if (__builtin_expect(pointer == nullptr, 0)) refuse_null(what);
  return pointer;
}

inline const opyard_operator* pointer_of(const Operator& op) noexcept {
  return reinterpret_cast<const opyard_operator*>(&op);
}
inline const Operator& op_of(const opyard_operator* op) {
  return *reinterpret_cast<const Operator*>(require(op, "an operator"));
}
inline Library& library_of(opyard_library* library) {
  return *reinterpret_cast<Library*>(require(library, "a library"));
}

inline opyard_tensor* pointer_of(TensorImpl* tensor) noexcept {
  return reinterpret_cast<opyard_tensor*>(static_cast<Counted*>(tensor));
}
inline TensorImpl* impl_of(const opyard_tensor* tensor) noexcept {
  auto* const counted = reinterpret_cast<Counted*>(const_cast<opyard_tensor*>(tensor));
  return static_cast<TensorImpl*>(counted);
}
// With an owner of its own; undefined for null.
inline Tensor tensor_of(const opyard_tensor* tensor) {
  return tensor == nullptr ? Tensor() : Tensor(CountedPtr<TensorImpl>::share(impl_of(tensor)));
}

// The structs of DLPack are declared twice, for C and for C++.
inline const dlpack::DLTensor& as_dlpack(const DLTensor* array, const char* what) {
  return *reinterpret_cast<const dlpack::DLTensor*>(require(array, what));
}

// A value as C sees it.
opyard_value borrow(const Value& value) noexcept;

// The value that C borrowed. It counts nothing, and neither does its end; a copy of it is an owner.
class BorrowedValue {
 public:
  // Raises BadValue or Unsupported for an unknown kind, BadArgument for a null object.
  explicit BorrowedValue(opyard_value value);
  const Value& operator*() const noexcept {
    return *std::launder(reinterpret_cast<const Value*>(bytes_));
  }
  const Value* operator->() const noexcept { return &**this; }

 private:
  alignas(Value) std::byte bytes_[sizeof(Value)];
};

// Writes a text as snprintf() does.
void write_text(std::string_view text, char* buffer, std::size_t capacity, std::size_t* bytes);

}  // namespace opyard::c_api
