// kernels/common/numbers.h: the dtypes of kernels that compute in floats, or in integers too.
//
// Depends on: common/check.h.
#pragma once

#include "common/check.h"

namespace opyard::kernels {

// A tensor of floats on the CPU or on meta. Raises Unsupported.
void require_floats(const char* op, const char* argument, const Tensor& tensor);
// The same for a composition, of any device and class: the operators that it calls are asked in
// its place. Raises BadArgument, Unsupported.
void require_float_dtype(const char* op, const char* argument, const Tensor& tensor);
// The same, or of integers.
void require_numbers(const char* op, const char* argument, const Tensor& tensor);
// The elements in the dtype that carries theirs (loop.h [Carriers]): the tensor itself, or a copy.
// Refuses uint64.
// The kernel computes with it, and converted() takes the result back.
Tensor in_carrier(const char* op, const Tensor& tensor);

// Calls body(T()) with the C++ type of a float32 or float64 tensor.
template <typename Body>
decltype(auto) visit_floats(const Tensor& tensor, Body&& body) {
  if (tensor.dtype() == DType::Float32) return body(float());
  return body(double());
}
// The same, or of an int64 tensor.
template <typename Body>
decltype(auto) visit_numbers(const Tensor& tensor, Body&& body) {
  if (tensor.dtype() == DType::Int64) return body(std::int64_t());
  return visit_floats(tensor, std::forward<Body>(body));
}

template <typename T>
T* elements_of(const Tensor& tensor) {
  return static_cast<T*>(tensor.impl()->data());
}

// How many dimensions a tensor must have. Raises BadShape.
void require_dims(const char* op, const char* argument, const Tensor& tensor, std::int64_t least,
                  std::int64_t most);

}  // namespace opyard::kernels
