// ir/builtins_numbers.cpp: built-in functions on numbers that are no expression of builtins.def:
// on a Scalar, which is an int, a float or a bool as the run shows, and on ranges.
#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "ir/builtins.h"
#include "ir/scalar_math.h"

namespace opyard::jit::detail {
namespace {

bool is_int_or_bool(const opyard::Value& number) { return number.is_int() || number.is_bool(); }

std::int64_t whole(const opyard::Value& number) {
  return number.is_bool() ? std::int64_t{number.to_bool()} : number.to_int();
}

// Raises BadArgument for a complex number.
double real(const opyard::Value& number) {
  return is_int_or_bool(number) ? double(whole(number)) : number.to_double();
}

// Of two whole numbers the function gets these, else two floats.
template <typename Function>
opyard::Value of_scalars(const opyard::Value* const* arguments, Function function) {
  const opyard::Value& a = *arguments[0];
  const opyard::Value& b = *arguments[1];
  if (is_int_or_bool(a) && is_int_or_bool(b)) return opyard::Value(function(whole(a), whole(b)));
  return opyard::Value(function(real(a), real(b)));
}

bool are_complex(const opyard::Value* const* arguments) {
  return arguments[0]->kind() == Kind::Complex || arguments[1]->kind() == Kind::Complex;
}

}  // namespace

std::int64_t greatest_divisor(std::int64_t a, std::int64_t b) {
  const auto size = [](std::int64_t number) {
    return number < 0 ? std::uint64_t{0} - std::uint64_t(number) : std::uint64_t(number);
  };
  return std::int64_t(std::gcd(size(a), size(b)));
}
std::int64_t factorial_of(std::int64_t a) {
  OPYARD_CHECK(a >= 0, BadValue, fmt::format("there is no factorial of {}", a));
  if (a > 65) return 0;  // wraps around, and 66! has 64 twos
  std::int64_t product = 1;
  for (std::int64_t i = 2; i <= a; ++i) product = times(product, i);
  return product;
}
std::int64_t shifted_left(std::int64_t a, std::int64_t by) {
  OPYARD_CHECK(by >= 0, BadValue, fmt::format("a shift by {}, which is below zero", by));
  return by > 63 ? 0 : std::int64_t(std::uint64_t(a) << by);
}
std::int64_t shifted_right(std::int64_t a, std::int64_t by) {
  OPYARD_CHECK(by >= 0, BadValue, fmt::format("a shift by {}, which is below zero", by));
  return a >> std::min<std::int64_t>(by, 63);
}
double times_power_of_two(double a, std::int64_t exponent) {
  constexpr std::int64_t kMost = 10'000;  // beyond all floats
  return std::ldexp(a, int(std::clamp<std::int64_t>(exponent, -kMost, kMost)));
}
// std::lgamma() writes a global variable, and codes run on several threads.
double log_gamma(double a) {
  int sign = 0;
  return ::lgamma_r(a, &sign);
}

void add_scalars(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = of_scalars(arguments, [](auto a, auto b) { return plus(a, b); });
}
void sub_scalars(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = of_scalars(arguments, [](auto a, auto b) { return minus(a, b); });
}
void mul_scalars(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = of_scalars(arguments, [](auto a, auto b) { return times(a, b); });
}
void div_scalars(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = of_scalars(arguments, [](auto a, auto b) { return quotient(double(a), double(b)); });
}
void floordiv_scalars(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = of_scalars(arguments, [](auto a, auto b) { return floor_quotient(a, b); });
}
void remainder_scalars(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = of_scalars(arguments, [](auto a, auto b) { return floor_remainder(a, b); });
}
void pow_scalars(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = of_scalars(arguments, [](auto a, auto b) { return std::pow(double(a), double(b)); });
}
void eq_scalars(const opyard::Value* const* arguments, opyard::Value* result) {
  if (are_complex(arguments)) {
    *result = *arguments[0] == *arguments[1];
    return;
  }
  *result = of_scalars(arguments, [](auto a, auto b) { return a == b; });
}
void ne_scalars(const opyard::Value* const* arguments, opyard::Value* result) {
  eq_scalars(arguments, result);
  *result = !result->to_bool();
}
void lt_scalars(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = of_scalars(arguments, [](auto a, auto b) { return a < b; });
}
void le_scalars(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = of_scalars(arguments, [](auto a, auto b) { return a <= b; });
}
void gt_scalars(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = of_scalars(arguments, [](auto a, auto b) { return a > b; });
}
void ge_scalars(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = of_scalars(arguments, [](auto a, auto b) { return a >= b; });
}
void negative_scalar(const opyard::Value* const* arguments, opyard::Value* result) {
  const opyard::Value& number = *arguments[0];
  *result = is_int_or_bool(number) ? opyard::Value(minus(std::int64_t{0}, whole(number)))
                                   : opyard::Value(-real(number));
}
void bool_of_scalar(const opyard::Value* const* arguments, opyard::Value* result) {
  const opyard::Value& number = *arguments[0];
  *result = number.kind() == Kind::Complex ? number.to_complex() != 0.0 : real(number) != 0;
}

void quotient_and_rest(const opyard::Value* const* arguments, opyard::Value* result) {
  result[0] = of_scalars(arguments, [](auto a, auto b) { return floor_quotient(a, b); });
  result[1] = of_scalars(arguments, [](auto a, auto b) { return floor_remainder(a, b); });
}

void range_length(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::int64_t low = arguments[0]->to_int();
  const std::int64_t high = arguments[1]->to_int();
  const std::int64_t step = arguments[2]->to_int();
  OPYARD_CHECK(step != 0, BadValue, "the step of a range is not 0");
  if (step > 0 ? low >= high : low <= high) {
    *result = std::int64_t{0};
    return;
  }
  const auto far = step > 0 ? std::uint64_t(high) - std::uint64_t(low)
                            : std::uint64_t(low) - std::uint64_t(high);
  const auto wide = step > 0 ? std::uint64_t(step) : std::uint64_t{0} - std::uint64_t(step);
  const std::uint64_t length = (far - 1) / wide + 1;
  OPYARD_CHECK(length <= std::uint64_t(std::numeric_limits<std::int64_t>::max()), BadValue,
               "the range has more items than an int can count");
  *result = std::int64_t(length);
}
void range_item(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = plus(arguments[1]->to_int(), times(arguments[0]->to_int(), arguments[2]->to_int()));
}

}  // namespace opyard::jit::detail
