// files/comparison.h: comparison of arrays within a tolerance.
//
// Depends on: tensor/tensor.h.
#pragma once

#include <complex>
#include <string>

#include "opyard/tensor/tensor.h"

namespace opyard::jit {

struct Comparison {
  bool is_equal = false;
  std::string text;  // "is within 1e-05 of", "differs at element 7 by 0.5 from"
};

// An element of a contiguous tensor of the CPU.
std::complex<double> element_at(const Tensor& tensor, std::int64_t index);

// Sizes must be the same, dtypes need not. An element may differ by the tolerance, and by as much
// of the expected one's size; NaN is equal to NaN, and an infinity to itself.
Comparison compare(const Tensor& given, const Tensor& expected, double tolerance);

// A tensor without dimensions.
Tensor tensor_of(const void* number, DType dtype);

}  // namespace opyard::jit
