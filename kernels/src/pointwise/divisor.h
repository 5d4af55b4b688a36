// kernels/pointwise/divisor.h: checked divisors of integers.
//
// Depends on: pointwise/elementwise.h.
#pragma once

#include "pointwise/elementwise.h"

namespace opyard::kernels {

// Raises BadValue if integers of this dtype would be divided by zero. The divisor is taken as the
// loop reads it: 256 is a zero of uint8. Floats, and what has no elements, divide by anything.
void require_divisor(const Elementwise& call, const Tensor& divisor, DType dtype);
void require_divisor(const Elementwise& call, const Scalar& divisor, DType dtype);

}  // namespace opyard::kernels
