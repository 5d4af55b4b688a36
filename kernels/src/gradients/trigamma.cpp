// kernels/gradients/trigamma.cpp: derivatives of digamma: trigamma, and those above it.
//
// derived_digamma(n, x) is derivative n of digamma at x, for n from 1 on:
//
//   (-1)^(n+1) n! sum of (x + k)^-(n+1), k from 0 on
//
// Their poles, 0 and the negative whole numbers, give infinity.
#include <cmath>
#include <limits>

#include "common/kernels_block.h"
#include "pointwise/loops.h"

namespace opyard::kernels {
namespace {

// Small arguments are raised by the recurrence to where the asymptotic series is exact, negative
// ones are reflected before.
double trigamma_at(double x) {
  constexpr double kPi = 3.141592653589793;
  if (x <= 0 && x == std::trunc(x)) return std::numeric_limits<double>::infinity();
  if (x < 0) {
    const double sine = std::sin(kPi * (x - std::nearbyint(x)));
    return kPi * kPi / (sine * sine) - trigamma_at(1 - x);
  }
  double sum = 0;
  for (; x < 10; x += 1) sum += 1 / (x * x);
  const double z = 1 / (x * x);
  // The Bernoulli numbers 2 to 14.
  constexpr double kTerms[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                               5.0 / 66, -691.0 / 2730, 7.0 / 6};
  double series = 0;
  for (int i = 6; i >= 0; --i) series = (series + kTerms[i]) * z;
  return sum + (1 + series) / x + z / 2;
}

// The sum of (x + k)^-s for k from 0 on, for x above 0 and s from 2 on: terms to where the series
// of Euler and Maclaurin is exact, and that series.
double sum_of_powers(double s, double x) {
  double sum = 0;
  for (; x < s + 10; x += 1) sum += std::pow(x, -s);
  // The Bernoulli numbers 2 to 14, each over the factorial of its number.
  constexpr double kTerms[] = {1.0 / 12,           -1.0 / 720,     1.0 / 30240,
                               -1.0 / 1209600,     1.0 / 47900160, -691.0 / 1307674368000.0,
                               1.0 / 74724249600.0};
  double term = s * std::pow(x, -s - 1), series = 0;
  for (int i = 0; i < 7; ++i) {
    series += kTerms[i] * term;
    term *= (s + 2 * i + 1) * (s + 2 * i + 2) / (x * x);
  }
  return sum + std::pow(x, 1 - s) / (s - 1) + std::pow(x, -s) / 2 + series;
}

double derived_digamma_at(std::int64_t n, double x) {
  const auto s = double(n + 1);
  const double sign = n % 2 == 0 ? -1 : 1, factor = sign * std::tgamma(s);
  if (x > 0) return factor * sum_of_powers(s, x);
  if (!std::isfinite(x) || x == std::trunc(x)) return std::numeric_limits<double>::infinity();
  // The terms below 0 are those of a sum from 1 - part on, up to 1 - x.
  const double part = x - std::floor(x);
  const double below = sum_of_powers(s, 1 - part) - sum_of_powers(s, 1 - x);
  return factor * (sum_of_powers(s, part) + sign * below);
}

template <typename T>
struct Trigamma {
  static T apply(T x) { return T(trigamma_at(double(x))); }
};
constexpr Loops kLoops = unary_loops<Trigamma, float, double>();

Tensor trigamma(const Tensor& self) {
  const Elementwise call("opyard::trigamma", self);
  const DType dtype = float_for(call.common());
  return call.run({call.choose(kLoops, dtype), dtype, dtype});
}

template <typename T>
struct DerivedDigamma {
  static T apply(T x, const Number& n) {
    return T(derived_digamma_at(n.as<std::int64_t>(), double(x)));
  }
};
constexpr Loops kDerivedLoops = unary_loops<DerivedDigamma, float, double>();

Tensor derived_digamma(std::int64_t n, const Tensor& self) {
  constexpr const char* kOp = "opyard::derived_digamma";
  constexpr std::int64_t kMost = 170;  // its factorial is the last one that a double holds
  if (n < 1 || n > kMost) {
    refuse(ErrorKind::BadValue, {kOp, ": n is ", n, "; accepted is 1 to 170"});
  }
  const Elementwise call(kOp, self);
  const DType dtype = float_for(call.common());
  return call.run({call.choose(kDerivedLoops, dtype), dtype, dtype, Number::of(n)});
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("trigamma(Tensor self) -> Tensor");
  m.def("derived_digamma(int n, Tensor self) -> Tensor");
  m.derivative("trigamma", {{"self", "grad * derived_digamma(2, self)"}});
  m.derivative("derived_digamma", {{"self", "grad * derived_digamma(n + 1, self)"}});
}

OPYARD_KERNELS_OF(opyard, m) {
  m.impl("trigamma", &trigamma);
  m.impl("derived_digamma", &derived_digamma);
}

}  // namespace opyard::kernels
