// kernels/gradients/trigamma.cpp: trigamma, the derivative of digamma, for the second of lgamma.
//
// Its poles, 0 and the negative whole numbers, give infinity.
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

}  // namespace

OPYARD_LIBRARY_FRAGMENT(opyard, m) { m.def("trigamma(Tensor self) -> Tensor"); }

OPYARD_KERNELS_OF(opyard, m) { m.impl("trigamma", &trigamma); }

}  // namespace opyard::kernels
