// opyard/tensor/make.h: new tensors like others, and contiguous memory, for authors of kernels.
//
//   const Tensor x = contiguous(given);      x itself if it is contiguous already
//   const Tensor y = empty_like(x);          contiguous, of x's sizes, dtype and device
//
// They allocate and copy themselves and call no operator, so they are for kernels; other code calls
// `aten` operators, which layers see. What writes or reads elements needs memory of the CPU; for a
// meta tensor only the result is made.
//
// Depends on: tensor/tensor.h.
#pragma once

#include <optional>

#include "opyard/tensor/tensor.h"

namespace opyard {

// Of uninitialised elements, row-major whatever the strides of x are. Give another dtype if results
// have one.
OPYARD_API Tensor empty_like(const Tensor& x, std::optional<DType> dtype = std::nullopt);
OPYARD_API Tensor zeros(IntSpan sizes, DType dtype = DType::Float32, Device device = {});
OPYARD_API Tensor zeros_like(const Tensor& x, std::optional<DType> dtype = std::nullopt);

// The tensor itself if it is contiguous, else a row-major copy of it.
OPYARD_API Tensor contiguous(const Tensor& x);
// Dimensions `start` to `end`, both included, as one: a view if there are strides for it, else a
// copy.
OPYARD_API Tensor flatten(const Tensor& x, std::int64_t start = 0, std::int64_t end = -1);

namespace detail {

// Raises BadArgument.
OPYARD_API void require_element_type(const Tensor& x, DType dtype);

}  // namespace detail

// The first element for code that goes by strides(), in checked libraries too. They raise as data()
// does.
template <typename T>
const T* strided_data(const Tensor& x) {
  detail::require_element_type(x, dtype_of<T>);
  return static_cast<const T*>(x.raw());
}
template <typename T>
T* mutable_strided_data(const Tensor& x) {
  detail::require_element_type(x, dtype_of<T>);
  return static_cast<T*>(x.mutable_raw());
}

}  // namespace opyard
