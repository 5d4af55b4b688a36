// kernels/composition/activations.cpp: activations of neural networks, made of pointwise operators.
//
// A branch that another one replaces is computed of a clamped input, so that its gradient is no
// product of 0 and infinity.
#include <cmath>
#include <string_view>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/define.h"
#include "common/halves.h"
#include "common/ops.h"

namespace opyard::kernels {
namespace {

using namespace ops;

void require_float_input(const char* op, const Tensor& self) {
  require_defined(op, "self", self);
  if (!is_floating_point(self.dtype())) {
    refuse(ErrorKind::BadArgument,
           {op, ": self is ", self, "; a float is needed, to which aten::to.dtype converts"});
  }
}

// What a factor of 1 would only copy.
Tensor times(const Tensor& x, const Scalar& factor) {
  return !factor.is_complex() && factor.to_double() == 1 ? x : x * factor;
}

Tensor elu(const Tensor& self, const Scalar& alpha, const Scalar& scale,
           const Scalar& input_scale) {
  require_float_input("aten::elu", self);
  const Tensor below = times(expm1(times(clamp(self, std::nullopt, 0), input_scale)), alpha);
  return times(where(self > 0, self, below), scale);
}
Tensor celu(const Tensor& self, const Scalar& alpha) {
  constexpr const char* kOp = "aten::celu";
  require_float_input(kOp, self);
  const double number = alpha.to_double();
  if (number == 0) refuse(ErrorKind::BadValue, {kOp, ": alpha is 0; any other number is accepted"});
  const Tensor below = expm1(times(clamp(self, std::nullopt, 0), 1 / number));
  return where(self > 0, self, times(below, alpha));
}
Tensor selu(const Tensor& self) {
  require_float_input("aten::selu", self);
  return elu(self, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1);
}
Tensor prelu_kernel(const Tensor& self, const Tensor& weight) {
  require_float_input("aten::_prelu_kernel", self);
  require_broadcast("aten::_prelu_kernel", {{"self", self}, {"weight", weight}});
  return where(self > 0, self, weight * self);
}
// With one slope, or one for each channel, which is dimension 1.
Tensor prelu(const Tensor& self, const Tensor& weight) {
  constexpr const char* kOp = "aten::prelu";
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> kernel(
      "aten::_prelu_kernel");
  require_float_input(kOp, self);
  require_defined(kOp, "weight", weight);
  if (self.dtype() != weight.dtype()) {
    refuse(ErrorKind::BadArgument,
           {kOp, ": self is ", self, " and weight is ", weight, "; both need one dtype"});
  }
  const std::int64_t channels = self.dim() > 1 ? self.size(1) : 1;
  if (weight.dim() > 1 ||
      (weight.numel() != 1 && (self.dim() == 0 || weight.numel() != channels))) {
    refuse(ErrorKind::BadShape,
           {kOp, ": self is ", self, " and weight is ", weight,
            "; a weight of one element is needed, or of as many as self has channels, which are "
            "dimension 1"});
  }
  DimVector sizes(std::size_t(self.dim()), 1);
  if (self.dim() > 1) sizes[1] = weight.numel();
  return kernel.call(self, self.dim() == weight.dim() ? weight : reshape(weight, sizes));
}
Tensor hardtanh(const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  require_defined("aten::hardtanh", "self", self);
  if (!is_floating_point(self.dtype()) && is_integral(self.dtype())) {
    return clamp(self, min_val.to_int(), max_val.to_int());
  }
  return named("aten::hardtanh", "aten::clamp", [&] { return clamp(self, min_val, max_val); });
}
Tensor relu6(const Tensor& self) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&, const Scalar&)> op(
      "aten::hardtanh");
  return named("aten::relu6", "aten::hardtanh", [&] { return op.call(self, 0, 6); });
}
// log(1 + exp(x)), smooth at 0 and without exp() of what is large.
Tensor log_one_plus_exp(const Tensor& x) {
  static constinit FoundOperator<Tensor(const Tensor&)> log_sigmoid("aten::log_sigmoid");
  return -log_sigmoid.call(-x);
}
Tensor mish(const Tensor& self) {
  require_float_input("aten::mish", self);
  return rounded_once([](const Tensor& x) { return x * tanh(log_one_plus_exp(x)); }, self);
}
Tensor softplus(const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  require_float_input("aten::softplus", self);
  if (is_half(self)) return to(softplus(widened(self), beta, threshold), self.dtype());
  const Tensor scaled = times(self, beta);
  const Tensor small = log1p(exp(clamp(scaled, std::nullopt, threshold)));
  const bool is_scaled = beta.is_complex() || beta.to_double() != 1;
  return where(scaled > threshold, self, is_scaled ? small / beta : small);
}
Tensor hardshrink(const Tensor& self, const Scalar& lambd) {
  require_float_input("aten::hardshrink", self);
  return masked(self, abs(self) <= lambd, 0);
}
Tensor softshrink(const Tensor& self, const Scalar& lambd) {
  constexpr const char* kOp = "aten::softshrink";
  require_float_input(kOp, self);
  const double by = lambd.to_double();
  if (!(by >= 0)) {
    refuse(ErrorKind::BadValue, {kOp, ": lambd is ", lambd, "; accepted are 0 and more"});
  }
  const Tensor shrunk = where(self > 0, self - lambd, self + lambd);
  return masked(shrunk, abs(self) <= lambd, 0);
}
Tensor threshold(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  require_defined("aten::threshold", "self", self);
  return masked(self, self <= threshold, value);
}
Tensor glu(const Tensor& self, std::int64_t dim) {
  constexpr const char* kOp = "aten::glu";
  require_float_input(kOp, self);
  if (self.dim() == 0) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, "; a dimension is needed, to halve"});
  }
  const std::int64_t size = self.size(wrap_dim(kOp, dim, self.dim()));
  if (size % 2 != 0) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, ", and dimension ", dim, " has ", size,
                                 " elements; an even number is needed"});
  }
  return ops::narrow(self, dim, 0, size / 2) * sigmoid(ops::narrow(self, dim, size / 2, size / 2));
}
Tensor logit(const Tensor& self, std::optional<double> eps) {
  require_defined("aten::logit", "self", self);
  if (is_half(self)) return to(logit(widened(self), eps), self.dtype());
  const Tensor x = is_integral(self.dtype()) ? to(self, DType::Float32) : self;
  Tensor p = eps ? clamp(x, *eps, 1 - *eps) : x;
  if (eps && *eps > 0.5) p = masked(masked(x, x > 1 - *eps, 1 - *eps), x < *eps, *eps);
  return log(p / (Scalar(1) - p));
}
Tensor sinc(const Tensor& self) {
  require_defined("aten::sinc", "self", self);
  if (is_half(self)) return to(sinc(widened(self)), self.dtype());
  const Tensor x = masked(self * M_PI, equals(self, 0), 1);
  return masked(sin(x) / x, equals(self, 0), 1);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         {"elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
          "celu(Tensor self, Scalar alpha=1.0) -> Tensor", "selu(Tensor self) -> Tensor",
          "_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
          "prelu(Tensor self, Tensor weight) -> Tensor",
          "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
          "relu6(Tensor self) -> Tensor", "mish(Tensor self) -> Tensor",
          "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
          "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
          "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
          "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
          "glu(Tensor self, int dim=-1) -> Tensor", "logit(Tensor self, float? eps=None) -> Tensor",
          "sinc(Tensor self) -> Tensor"},
         Tagged::Pointwise);
  m.impl("elu", &elu);
  m.impl("celu", &celu);
  m.impl("selu", &selu);
  m.impl("_prelu_kernel", &prelu_kernel);
  m.impl("prelu", &prelu);
  m.impl("relu6", &relu6);
  m.impl("mish", &mish);
  m.impl("softplus", &softplus);
  m.impl("hardshrink", &hardshrink);
  m.impl("softshrink", &softshrink);
  m.impl("threshold", &threshold);
  m.impl("glu", &glu);
  for (const char* name : {"elu", "celu", "selu", "relu6", "mish", "threshold"}) {
    define_in_place(m, name);
  }
  for (const char* name :
       {"elu", "mish", "softplus", "hardshrink", "softshrink", "threshold", "glu"}) {
    define_out(m, name);
  }
  for (const char* name : {"hardtanh", "logit", "sinc"}) {
    define_in_place(m, name, Form::WithFormula);
    define_out(m, name, "out", Form::WithFormula);
  }
}

OPYARD_LIBRARY_IMPL(aten, CompositeExplicitAutograd, m) {
  m.impl("hardtanh", &hardtanh);
  m.impl("logit", &logit);
  m.impl("sinc", &sinc);
}

}  // namespace opyard::kernels
