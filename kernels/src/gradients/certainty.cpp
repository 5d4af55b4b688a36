// kernels/gradients/certainty.cpp: binary_cross_entropy, unreduced, with finite gradients at
// probabilities of exactly 0 and 1.
//
// A loss is -t log(p) - (1 - t) log(1 - p). Its logarithms are cut at -100, so that a certain and
// wrong answer has a finite loss. Its slope (p - t) / (p (1 - p)) is divided by 1e-12 at the least,
// as PyTorch does: a certain and right answer has the slope 0, and a certain and wrong one a large
// one.
//
// What is outside of 0 and 1 is refused: its logarithm would be NaN, or cut like that of 0.
#include <opyard/library.h>

#include "common/check.h"
#include "common/ops.h"
#include "common/symbolic.h"

namespace opyard::kernels {
namespace {

using namespace ops;

constexpr double kLeast = 1e-12;

// Raises BadValue for an element that is no probability, such as a logit or NaN.
void require_probabilities(const char* argument, const Tensor& given) {
  if (is_meta(given) || has_symbolic_sizes(given) || is_complex(given.dtype())) return;
  if (given.numel() == 0) return;
  static constinit FoundOperator<Tensor(const Tensor&)> least("aten::min"), most("aten::max");
  static constinit FoundOperator<Scalar(const Tensor&)> number("aten::_local_scalar_dense");
  const double low = number.call(least.call(given)).to_double();
  const double high = number.call(most.call(given)).to_double();
  if (low >= 0 && high <= 1) return;
  refuse(ErrorKind::BadValue,
         {"aten::binary_cross_entropy: ", argument, " has the element ", low >= 0 ? high : low,
          "; accepted are probabilities, from 0 to 1, which sigmoid() makes of logits; "
          "binary_cross_entropy_with_logits takes these as they are"});
}

Tensor certainty_losses(const Tensor& self, const Tensor& target) {
  require_probabilities("self", self);
  require_probabilities("target", target);
  const Tensor yes = clamp(log(self), -100, std::nullopt);
  const Tensor no = clamp(log1p(-self), -100, std::nullopt);
  return (target - Scalar(1)) * no - target * yes;
}
Tensor less_log_odds(const Tensor& self) {
  return clamp(log1p(-self), -100, std::nullopt) - clamp(log(self), -100, std::nullopt);
}
Tensor variance_of_answer(const Tensor& self) {
  return clamp((Scalar(1) - self) * self, kLeast, std::nullopt);
}
Tensor certainty_slope(const Tensor& self, const Tensor& target) {
  return (self - target) / variance_of_answer(self);
}
Tensor certainty_curvature(const Tensor& self, const Tensor& target) {
  const Tensor bounded = (self + kLeast) * (Scalar(1 + kLeast) - self);
  return (self * self - self * target * 2 + target) / (bounded * bounded);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("certainty_losses(Tensor self, Tensor target) -> Tensor");
  m.def("certainty_slope(Tensor self, Tensor target) -> Tensor");
  m.def("certainty_curvature(Tensor self, Tensor target) -> Tensor", &certainty_curvature);
  m.def("less_log_odds(Tensor self) -> Tensor");
  m.def("variance_of_answer(Tensor self) -> Tensor", &variance_of_answer);
  m.derivative("certainty_losses", {{"self", "grad * certainty_slope(self, target)"},
                                    {"target", "grad * less_log_odds(self)"}});
  m.derivative("certainty_slope", {{"self", "grad * certainty_curvature(self, target)"},
                                   {"target", "-grad / variance_of_answer(self)"}});
  m.derivative("less_log_odds", {{"self", "-grad / variance_of_answer(self)"}});
}

OPYARD_LIBRARY_IMPL(opyard, CompositeExplicitAutograd, m) {
  m.impl("certainty_losses", &certainty_losses);
  m.impl("certainty_slope", &certainty_slope);
  m.impl("less_log_odds", &less_log_odds);
}

}  // namespace opyard::kernels
