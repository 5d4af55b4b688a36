// kernels/gradients/corners.cpp: gradients of functions with a point at which their plain formula is
// 0 / 0, 0 times infinity, or finite where the function is no number: atan2, hypot, xlogy, logit,
// sinc.
//
// What is masked is masked before it is divided, so that second gradients are numbers as well. All
// are compositions, and so differentiable again.
#include <opyard/library.h>

#include <array>
#include <cmath>
#include <limits>

#include "common/halves.h"
#include "common/ops.h"

namespace opyard::kernels {
namespace {

using namespace ops;

// x / divisor, and 0 where that is 0.
Tensor unless_over_0(const Tensor& x, const Tensor& divisor) {
  const Tensor none = equals(detach(divisor), 0);
  return masked(x / masked(divisor, none, 1), none, 0);
}

Tensor xlogy_by_number_backward(const Tensor& grad, const Tensor& self, const Scalar& other) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&)> xlogy(
      "aten::xlogy.Scalar_Other");
  const Tensor slope = xlogy.call(grad, other);
  return other.to_double() > 0 ? slope : masked(slope, equals(detach(self), 0), 0);
}

// grad / (p (1 - p)), which is no number where there is no logit. Clamped ones have the slope 0.
Tensor logit_backward(const Tensor& grad, const Tensor& self, std::optional<double> eps) {
  if (is_half(self)) return to(logit_backward(widened(grad), widened(self), eps), self.dtype());
  const double least = eps.value_or(0), other = eps ? 0 : std::numeric_limits<double>::quiet_NaN();
  const Tensor outside = negation(both(self >= least, self <= 1 - least));
  const Tensor inside = masked(self, outside, 0.5);
  return masked(grad / (inside * (Scalar(1) - inside)), outside, other);
}

// Of y = pi x: (cos(y) - sin(y) / y) / y, of which nothing is left near 0, where it is a series.
Tensor sinc_backward(const Tensor& grad, const Tensor& self) {
  if (is_half(self)) return to(sinc_backward(widened(grad), widened(self)), self.dtype());
  // -2k / (2k + 1)! with the sign of the k-th term, k from 1 on.
  constexpr std::array kTerms = {
      -1.0 / 3,       1.0 / 30,        -1.0 / 840,         1.0 / 45360,
      -1.0 / 3991680, 1.0 / 518918400, -1.0 / 93405312000, 1.0 / 22230464256000};
  const Tensor near = abs(detach(self)) < 0.2;
  const Tensor small = masked(self, negation(near), 0) * M_PI, square = small * small;
  Tensor series = square * kTerms.back() + kTerms[kTerms.size() - 2];
  for (std::size_t i = kTerms.size() - 2; i-- > 0;) series = series * square + kTerms[i];
  const Tensor large = masked(self * M_PI, near, 1);
  const Tensor slope = where(near, small * series, (cos(large) - sin(large) / large) / large);
  return grad * conj(slope * M_PI);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.derivative("logit", {{"self", "logit_backward(grad, self, eps)"}});
  m.derivative("sinc", {{"self", "sinc_backward(grad, self)"}});
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("unless_over_0(Tensor x, Tensor divisor) -> Tensor", &unless_over_0);
  m.def("xlogy_by_number_backward(Tensor grad, Tensor self, Scalar other) -> Tensor",
        &xlogy_by_number_backward);
  m.def("logit_backward(Tensor grad, Tensor self, float? eps) -> Tensor", &logit_backward);
  m.def("sinc_backward(Tensor grad, Tensor self) -> Tensor", &sinc_backward);
}

}  // namespace opyard::kernels
