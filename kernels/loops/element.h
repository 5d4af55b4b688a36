// loops/element.h: arithmetic of single elements, equal in every build.
//
// Integers wrap, floats are as they are, and bool is logic. Products and quotients of complex
// numbers are the plain formulas, without C's rules for infinities: a quotient divides by the
// larger part of the divisor first, so that no square overflows.
//
// Depends on: nothing.
#pragma once

#include <cmath>
#include <complex>
#include <type_traits>

namespace opyard::kernels {

template <typename T>
inline constexpr bool is_complex_type = false;
template <typename Real>
inline constexpr bool is_complex_type<std::complex<Real>> = true;

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
  } else if constexpr (is_complex_type<T>) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
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
T divide(T a, T b) {
  if constexpr (is_complex_type<T>) {
    const auto re = b.real(), im = b.imag();
    if (std::abs(re) >= std::abs(im)) {
      if (re == 0 && im == 0) return {a.real() / std::abs(re), a.imag() / std::abs(im)};
      const auto ratio = im / re, scale = 1 / (re + im * ratio);
      return {(a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale};
    }
    const auto ratio = re / im, scale = 1 / (im + re * ratio);
    return {(a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale};
  } else {
    return a / b;
  }
}
template <typename T>
constexpr bool is_nan(T value) {
  return value != value;  // NOLINT: only NaN is not itself
}

}  // namespace opyard::kernels
