// kernels/pointwise/rest.h: remainders of float division.
//
// Depends on: nothing.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace opyard::kernels {

// With the sign of a: std::fmod(), which is exact and takes 15 to 20 ns. Of float32 the quotient is
// taken in float64, where its product with b is exact up to 2^29. One that was rounded to an
// integer from below is one too many; then the rest has the wrong sign.
inline double truncated_rest(double a, double b) { return std::fmod(a, b); }
inline float truncated_rest(float a, float b) {
  constexpr double kMost = 0x1p29, kLargest = std::numeric_limits<float>::max();
  const double x = a, y = b, quotient = x / y;
  if (!(std::abs(quotient) < kMost && std::abs(y) <= kLargest)) return std::fmod(a, b);
  const double rest = x - double(std::int32_t(quotient)) * y;
  const bool is_past = rest != 0 && (rest < 0) != (x < 0);
  return std::copysign(float(is_past ? std::abs(y) - std::abs(rest) : rest), a);
}

// Whether the rest has another sign than b, and the quotient is to be one less. That is as good as
// random: no branch guesses it.
template <typename T>
bool is_below(T rest, T b) {
  return (rest != 0) & ((rest < 0) != (b < 0));
}

// With the sign of b, also if it is zero.
template <typename T>
T floored_rest(T a, T b) {
  const T rest = truncated_rest(a, b);
  const T results[] = {rest, rest + b};
  return std::copysign(results[is_below(rest, b)], b);
}

// std::floor(), without a call where an int32 holds it.
template <typename T>
T rounded_down(T number) {
  if (!(std::abs(number) < T(0x1p30))) return std::floor(number);
  const T whole = T(std::int32_t(number));
  return whole - T(whole > number);
}

// The largest integer that is not above a / b. a - rest is a multiple of b, so that the quotient is
// off an integer by rounding only.
template <typename T>
T floored_quotient(T a, T b) {
  if (b == 0) return a / b;
  const T rest = truncated_rest(a, b);
  const T quotient = (a - rest) / b - T(is_below(rest, b));
  if (quotient == 0) return std::copysign(T(0), a / b);
  const T floor = rounded_down(quotient);
  return floor + T(quotient - floor > T(0.5));
}

}  // namespace opyard::kernels
