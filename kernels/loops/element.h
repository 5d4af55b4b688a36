// loops/element.h: arithmetic of single elements, which every build does in the same way.
//
// Integers wrap, floats are as they are, and bool is logic.
//
// Depends on: nothing.
#pragma once

#include <type_traits>

namespace opyard::kernels {

template <typename T>
constexpr T add(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {
    return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
  } else {
    return a + b;
  }
}
template <typename T>
constexpr T multiply(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a && b;
  } else if constexpr (std::is_integral_v<T>) {
    return T(std::make_unsigned_t<T>(a) * std::make_unsigned_t<T>(b));
  } else {
    return a * b;
  }
}
template <typename T>
constexpr T subtract(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return T(std::make_unsigned_t<T>(a) - std::make_unsigned_t<T>(b));
  } else {
    return a - b;
  }
}
template <typename T>
constexpr bool is_nan(T value) {
  return value != value;  // NOLINT: only NaN is not itself
}

}  // namespace opyard::kernels
