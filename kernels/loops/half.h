// loops/half.h: float16 and bfloat16 to float32 and back.
//
// Without branches, for the compiler to turn into vector instructions. Rounding is to the nearest,
// ties to even; what is too large becomes infinite, and a NaN stays one.
//
//   float16    sign, 5 bits of exponent (bias 15), 10 bits of fraction
//   bfloat16   the upper half of a float32
//
// Depends on: opyard/tensor/dtype.h.
#pragma once

#include <bit>
#include <cstdint>

#include "opyard/tensor/dtype.h"

namespace opyard::kernels {

constexpr float to_float(BFloat16 value) {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

constexpr BFloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const std::uint32_t nan = (bits >> 16) | 0x40;
  const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
  return {std::uint16_t(is_nan ? nan : rounded)};
}

// The exponent is moved by a product with a power of two, which normalises what is subnormal.
constexpr float to_float(Half value) {
  const std::uint32_t size = std::uint32_t{value.bits} & 0x7fff;
  const float scaled = std::bit_cast<float>(size << 13) * 0x1p112F;
  const std::uint32_t special = size >= 0x7c00 ? 0x7f800000 : 0;
  const std::uint32_t sign = (std::uint32_t{value.bits} & 0x8000) << 16;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign);
}

// A sum with a float whose last bit is the result's last one rounds at that bit: for a normal
// result by integers, for a subnormal one by the float 0.5.
constexpr Half to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t size = bits & 0x7fffffff;
  const std::uint32_t normal = (size - 0x38000000 + 0xfff + ((size >> 13) & 1)) >> 13;
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) - 0x3f000000;
  std::uint32_t result = size < 0x38800000 ? subnormal : normal;
  result = size >= 0x477ff000 ? 0x7c00 : result;
  result = size > 0x7f800000 ? 0x7e00 : result;
  return {std::uint16_t(result | ((bits >> 16) & 0x8000))};
}

}  // namespace opyard::kernels
