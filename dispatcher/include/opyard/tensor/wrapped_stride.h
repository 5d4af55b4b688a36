// opyard/tensor/wrapped_stride.h: arithmetic with strides that may be any number.
//
// No element uses the stride along a size of 1, nor any stride of a tensor without elements. They
// may be any number, and what is computed from one wraps as unsigned numbers do.
//
// Depends on: nothing.
#pragma once

#include <cstdint>

namespace opyard {

// Modulo 2 to the 64, where the plain operation would overflow.
inline std::int64_t wrapped_product(std::int64_t stride, std::int64_t factor) noexcept {
  return std::int64_t(std::uint64_t(stride) * std::uint64_t(factor));
}
inline std::int64_t wrapped_sum(std::int64_t stride, std::int64_t other) noexcept {
  return std::int64_t(std::uint64_t(stride) + std::uint64_t(other));
}

}  // namespace opyard
