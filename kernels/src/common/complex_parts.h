// kernels/common/complex_parts.h: a complex tensor as the real tensor of its parts.
//
//   complex64[3]   as float32[3, 2]: [..., 0] is the real part, [..., 1] the imaginary one
//
// What treats both parts alike (a sum, a copy) needs no loops of its own then.
//
// Depends on: opyard/tensor.h.
#pragma once

#include "opyard/tensor.h"

namespace opyard::kernels {

// Both share the storage. Sizes may be symbolic.
Tensor as_real(const Tensor& complex);
// The reverse: the last dimension has size 2 and stride 1, all other strides are even.
Tensor as_complex(const Tensor& real);
// One of the parts: 0 or 1.
Tensor part_of(const Tensor& complex, std::int64_t which);

}  // namespace opyard::kernels
