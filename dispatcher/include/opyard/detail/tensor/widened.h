// opyard/detail/tensor/widened.h: 16-bit floats as double, which holds each of them exactly.
//
// For single elements. Loops have a way without branches: kernels/loops/half.h.
//
// Depends on: tensor/dtype.h.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "opyard/tensor/dtype.h"

namespace opyard::detail {

inline double widened(BFloat16 value) noexcept {
  return double(std::bit_cast<float>(std::uint32_t{value.bits} << 16));
}

// Sign, 5 bits of exponent (bias 15), 10 bits of fraction.
inline double widened(Half value) noexcept {
  const int exponent = (value.bits >> 10) & 31;
  const int fraction = value.bits & 1023;
  double size = 0;
  if (exponent == 31) {
    size = fraction == 0 ? std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    size = std::ldexp(fraction, -24);
  } else {
    size = std::ldexp(fraction + 1024, exponent - 25);
  }
  return std::copysign(size, (value.bits & 0x8000) != 0 ? -1.0 : 1.0);
}

}  // namespace opyard::detail
