// opyard/tensor/reinterpret.h: a view of the same memory as elements of another dtype.
//
// Depends on: tensor/tensor.h.
#pragma once

#include "opyard/tensor/tensor.h"

namespace opyard {

// As Tensor::as_strided(). `strides` and `offset` are in elements of `dtype`. Raises BadShape if it
// leaves the storage.
OPYARD_API Tensor reinterpret(const Tensor& tensor, DType dtype, IntSpan sizes, IntSpan strides,
                              std::int64_t offset);

}  // namespace opyard
