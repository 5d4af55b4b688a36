// ir/scalar_math.h: Python's arithmetic on 64-bit numbers, for the expressions of builtins.def.
//
// Integers wrap around. A division by zero raises BadValue, as Python raises, also for floats.
//
// Depends on: base/error.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "opyard/base/error.h"
#include "opyard/value/value.h"

namespace opyard::jit::detail {

[[noreturn]] OPYARD_COLD void refuse_zero();
[[noreturn]] OPYARD_COLD void refuse_float(double number);

inline std::int64_t plus(std::int64_t a, std::int64_t b) {
  return std::int64_t(std::uint64_t(a) + std::uint64_t(b));
}
inline double plus(double a, double b) { return a + b; }
inline std::int64_t minus(std::int64_t a, std::int64_t b) {
  return std::int64_t(std::uint64_t(a) - std::uint64_t(b));
}
inline double minus(double a, double b) { return a - b; }
inline std::int64_t times(std::int64_t a, std::int64_t b) {
  return std::int64_t(std::uint64_t(a) * std::uint64_t(b));
}
inline double times(double a, double b) { return a * b; }
inline double quotient(double a, double b) {
  if (__builtin_expect(b == 0, 0)) refuse_zero();
  return a / b;
}
inline std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (__builtin_expect(b == 0, 0)) refuse_zero();
  if (b == -1) return minus(std::int64_t{0}, a);  // the least number has no positive one
  const std::int64_t toward_zero = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? toward_zero - 1 : toward_zero;
}
inline double floor_quotient(double a, double b) { return std::floor(quotient(a, b)); }
inline std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  if (__builtin_expect(b == 0, 0)) refuse_zero();
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return (rest != 0 && (rest < 0) != (b < 0)) ? rest + b : rest;
}
inline double floor_remainder(double a, double b) {
  if (__builtin_expect(b == 0, 0)) refuse_zero();
  const double rest = std::fmod(a, b);
  return std::copysign((rest != 0 && (rest < 0) != (b < 0)) ? rest + b : rest, b);
}
inline std::int64_t int_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  std::int64_t power = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power = times(power, base);
    base = times(base, base);
  }
  return power;
}
std::int64_t greatest_divisor(std::int64_t a, std::int64_t b);
std::int64_t factorial_of(std::int64_t a);
std::int64_t shifted_left(std::int64_t a, std::int64_t by);
std::int64_t shifted_right(std::int64_t a, std::int64_t by);
double times_power_of_two(double a, std::int64_t exponent);
double log_gamma(double a);
inline double degrees_of(double radians) { return radians * (180 / M_PI); }
inline double radians_of(double degrees) { return degrees * (M_PI / 180); }
// A half goes to the even neighbour.
inline double rounded_to_even(double a) { return std::nearbyint(a); }
inline std::int64_t to_int(double number) {
  if (__builtin_expect(!(number >= -9223372036854775808.0 && number < 9223372036854775808.0), 0)) {
    refuse_float(number);
  }
  return std::int64_t(number);
}

// An operand of a scalar function: of exactly this kind, or BadArgument.
template <typename T>
T scalar_of(const opyard::Value& value);
template <>
inline std::int64_t scalar_of<std::int64_t>(const opyard::Value& value) {
  return value.to_int();
}
template <>
inline double scalar_of<double>(const opyard::Value& value) {
  return value.to_double();
}
template <>
inline bool scalar_of<bool>(const opyard::Value& value) {
  return value.to_bool();
}

}  // namespace opyard::jit::detail
