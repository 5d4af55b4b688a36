// kernels/gradients/answered.cpp: derivatives of functions and reductions that other libraries
// compute. Those of matrices are in linalg.cpp, of Fourier transforms in complex.cpp.
#include <opyard/library.h>

#include <initializer_list>

#include "common/ops.h"

namespace opyard::kernels {
namespace {

using namespace ops;
using Function = FoundOperator<Tensor(const Tensor&)>;

Tensor i0_backward(const Tensor& grad, const Tensor& self) {
  static constinit Function i1("aten::special_i1");
  return grad * i1.call(self);
}
Tensor i0e_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  static constinit Function i1e("aten::special_i1e"), sgn("aten::sgn");
  return grad * (i1e.call(self) - sgn.call(self) * result);
}
// A quotient by self, which is one half at 0.
Tensor i1_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  static constinit Function i0("aten::special_i0");
  const Tensor is_zero = equals(self, 0);
  return grad * masked(i0.call(self) - result / masked(self, is_zero, 1), is_zero, 0.5);
}
Tensor i1e_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  static constinit Function i0e("aten::special_i0e"), sgn("aten::sgn");
  const Tensor is_zero = equals(self, 0), apart = masked(self, is_zero, 1);
  const Tensor slope = i0e.call(self) - result * sgn.call(self) - result / apart;
  return grad * masked(slope, is_zero, 0.5);
}
Tensor log_ndtr_backward(const Tensor& grad, const Tensor& self) {
  static constinit Function erfcx("aten::special_erfcx"), log_ndtr("aten::special_log_ndtr");
  // Above 0 erfcx goes past the largest number; below the logarithm has too few digits.
  const Tensor is_above = detach(self) > 0;
  const Tensor above = masked(self, negation(is_above), 0), below = masked(self, is_above, 0);
  return where(is_above,
               grad * exp(above * above * -0.5 - log_ndtr.call(above)) * 0.3989422804014327,
               grad / erfcx.call(below * -0.7071067811865476) * 0.7978845608028654);
}
Tensor polygamma_backward(const Tensor& grad, std::int64_t n, const Tensor& self) {
  static constinit FoundOperator<Tensor(std::int64_t, const Tensor&)> polygamma("aten::polygamma");
  return grad * polygamma.call(n + 1, self);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  const auto both = [&m](std::initializer_list<const char*> names, const char* formula) {
    for (const char* name : names) m.derivative(name, {{"self", formula}});
  };

  // Special functions; 0.8862… is sqrt(pi) / 2, 0.7978… sqrt(2 / pi), 0.3989… 1 / sqrt(2 pi).
  both({"erfinv", "special_erfinv"}, "grad * exp(result * result) * 0.886226925452758");
  both({"i0", "special_i0"}, "i0_backward(grad, self)");
  m.derivative("special_i1", {{"self", "i1_backward(grad, self, result)"}});
  m.derivative("special_i1e", {{"self", "i1e_backward(grad, self, result)"}});
  m.derivative("special_i0e", {{"self", "i0e_backward(grad, self, result)"}});
  m.derivative("special_entr", {{"self", "grad * (-1 - log(self))"}});
  m.derivative("special_erfcx", {{"self", "grad * (self * result * 2 - 1.1283791670955126)"}});
  m.derivative("special_ndtr", {{"self", "grad * exp(self * self * -0.5) * 0.3989422804014327"}});
  m.derivative("special_log_ndtr", {{"self", "log_ndtr_backward(grad, self)"}});
  m.derivative("special_ndtri",
               {{"self", "grad * exp(result * result * 0.5) * 2.5066282746310002"}});
  both({"polygamma", "special_polygamma"}, "polygamma_backward(grad, n, self)");
  m.derivative(
      "special_xlog1py",
      {{"self",
        "sum_to(masked_fill(special_xlog1py(grad, other), logical_and(self == 0, other <= -1), "
        "0), self)"},
       {"other", "sum_to(grad * self / (other + 1), other)"}});

  // Pairs. What is not chosen has no part.
  m.derivative(
      "fmax", {{"self",
                "sum_to(masked_fill(grad, logical_not(logical_or(ge(self, other), isnan(other))), "
                "0), self)"},
               {"other",
                "sum_to(masked_fill(grad, logical_or(ge(self, other), isnan(other)), 0), other)"}});
  m.derivative(
      "fmin", {{"self",
                "sum_to(masked_fill(grad, logical_not(logical_or(le(self, other), isnan(other))), "
                "0), self)"},
               {"other",
                "sum_to(masked_fill(grad, logical_or(le(self, other), isnan(other)), 0), other)"}});
  m.derivative("logaddexp2", {{"self", "sum_to(grad / (1 + exp2(other - self)), self)"},
                              {"other", "sum_to(grad / (1 + exp2(self - other)), other)"}});
  m.derivative("ldexp.Tensor", {{"self", "sum_to(grad * exp2(other), self)"},
                                {"other", "sum_to(grad * result * 0.6931471805599453, other)"}});
  m.derivative("nan_to_num",
               {{"self", "masked_fill(grad, logical_or(isinf(self), isnan(self)), 0)"}});

  // Reductions.
  m.derivative(
      "nansum",
      {{"self", "masked_fill(expand_dims(grad, sizes(self), dim, keepdim), isnan(self), 0)"}});
  m.derivative(
      "nanmean",
      {{"self",
        "masked_fill(expand_dims(grad / sum(logical_not(isnan(self)), dim, keepdim), sizes(self), "
        "dim, keepdim), isnan(self), 0)"}});
  for (const char* name : {"median", "nanmedian"})
    m.derivative(name, {{"self", "extremum_backward(grad, self, result, None, False)"}});
  for (const char* name : {"median.dim", "nanmedian.dim", "mode"})
    m.derivative(name, {{"self", "chosen_backward(grad0, sizes(self), dim, result1, keepdim)"}});
  for (const char* name : {"cummax", "cummin"})
    m.derivative(name, {{"self", "scatter_add(zeros_like(grad0), dim, result1, grad0)"}});
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("i0_backward(Tensor grad, Tensor self) -> Tensor", &i0_backward);
  m.def("i0e_backward(Tensor grad, Tensor self, Tensor result) -> Tensor", &i0e_backward);
  m.def("i1_backward(Tensor grad, Tensor self, Tensor result) -> Tensor", &i1_backward);
  m.def("i1e_backward(Tensor grad, Tensor self, Tensor result) -> Tensor", &i1e_backward);
  m.def("log_ndtr_backward(Tensor grad, Tensor self) -> Tensor", &log_ndtr_backward);
  m.def("polygamma_backward(Tensor grad, int n, Tensor self) -> Tensor", &polygamma_backward);
}

}  // namespace opyard::kernels
