// kernels/pointwise/activations.cpp: activations in one loop each, and their backward.
//
// Other activations are made of pointwise operators: composition/activations.cpp.
#include <opyard/library.h>

#include <cmath>
#include <string_view>

#include "common/block_functions.h"
#include "common/broadcast.h"
#include "common/builds.h"
#include "common/check.h"
#include "common/define.h"
#include "common/halves.h"
#include "common/kernels_block.h"
#include "common/ops.h"
#include "pointwise/elementwise.h"

namespace opyard::kernels {
namespace {

using namespace ops;

constexpr double kTanhCubic = 0.044715;
constexpr double kTanhFactor = M_SQRT2 * M_2_SQRTPI * 0.5;

void require_float_argument(const char* op, const char* argument, const Tensor& tensor) {
  require_defined(op, argument, tensor);
  if (!is_floating_point(tensor.dtype())) {
    refuse(ErrorKind::BadArgument, {op, ": ", argument, " is ", tensor,
                                    "; a float is needed, to which aten::to.dtype converts"});
  }
}

Tensor of_floats(const char* op, const Loops& loops, const Tensor& self) {
  require_float_argument(op, "self", self);
  if (Tensor result = of_alike(loops, self); result.defined()) return result;
  const Elementwise call(op, self);
  return call.run({call.choose(loops, self.dtype()), self.dtype(), self.dtype()});
}

// Whether it is by tanh.
bool is_by_tanh(const char* op, std::string_view approximate) {
  if (approximate != "none" && approximate != "tanh") {
    refuse(ErrorKind::BadValue,
           {op, ": approximate is \"", approximate, "\"; accepted are \"none\" and \"tanh\""});
  }
  return approximate == "tanh";
}

Tensor gelu(const Tensor& self, std::string_view approximate) {
  constexpr const char* kOp = "aten::gelu";
  const bool by_tanh = is_by_tanh(kOp, approximate);
  const ActivationLoops& of = loops().activations;
  return of_floats(kOp, by_tanh ? of.gelu_by_tanh : of.gelu, self);
}
Tensor silu(const Tensor& self) { return of_floats("aten::silu", loops().activations.silu, self); }
Tensor hardsigmoid(const Tensor& self) {
  return of_floats("aten::hardsigmoid", loops().activations.hard_logistic, self);
}
Tensor hardswish(const Tensor& self) {
  return of_floats("aten::hardswish", loops().activations.hard_swish, self);
}
Tensor log_sigmoid(const Tensor& self) {
  return of_floats("aten::log_sigmoid", loops().activations.log_logistic, self);
}
Tensor leaky_relu(const Tensor& self, const Scalar& negative_slope) {
  constexpr const char* kOp = "aten::leaky_relu";
  require_float_argument(kOp, "self", self);
  require_real(kOp, "negative_slope", negative_slope);
  const Loops& of = loops().activations.leaky;
  if (Tensor result = of_number(kOp, of, self, negative_slope); result.defined()) return result;
  const Elementwise call(kOp, self, negative_slope);
  return call.run({call.choose(of, self.dtype()), self.dtype(), self.dtype(), {}, true});
}

// x F(x), where F is the normal distribution or near it: F + x F'.
Tensor gelu_backward(const Tensor& grad_output, const Tensor& given, std::string_view approximate) {
  constexpr const char* kOp = "aten::gelu_backward";
  require_float_argument(kOp, "grad_output", grad_output);
  require_float_argument(kOp, "self", given);
  require_broadcast(kOp, {{"grad_output", grad_output}, {"self", given}});
  const auto [grad, self] = promoted(kOp, {{"grad_output", grad_output}, {"self", given}});
  if (!is_by_tanh(kOp, approximate)) {
    const Tensor below = (erf(self * M_SQRT1_2) + 1) * 0.5;
    const Tensor density = exp(self * self * -0.5) * (M_2_SQRTPI * M_SQRT1_2 * 0.5);
    return grad * (below + self * density);
  }
  const Tensor square = self * self;
  const Tensor bent = tanh((self + square * self * kTanhCubic) * kTanhFactor);
  const Tensor slope = (square * (3 * kTanhCubic) + 1) * kTanhFactor;
  return grad * ((bent + 1) * 0.5 + self * (1 - bent * bent) * slope * 0.5);
}
Tensor silu_backward(const Tensor& grad_output, const Tensor& self) {
  constexpr const char* kOp = "aten::silu_backward";
  require_float_argument(kOp, "grad_output", grad_output);
  require_float_argument(kOp, "self", self);
  require_broadcast(kOp, {{"grad_output", grad_output}, {"self", self}});
  const auto [grad, x] = promoted(kOp, {{"grad_output", grad_output}, {"self", self}});
  const Tensor gate = sigmoid(x);
  return grad * gate * (x * (1 - gate) + 1);
}
Tensor hardsigmoid_backward(const Tensor& grad_output, const Tensor& self) {
  constexpr const char* kOp = "aten::hardsigmoid_backward";
  require_float_argument(kOp, "grad_output", grad_output);
  require_float_argument(kOp, "self", self);
  require_broadcast(kOp, {{"grad_output", grad_output}, {"self", self}});
  return masked(grad_output / 6, negation(both(self > -3, self < 3)), 0);
}
Tensor hardswish_backward(const Tensor& grad_output, const Tensor& self) {
  constexpr const char* kOp = "aten::hardswish_backward";
  require_float_argument(kOp, "grad_output", grad_output);
  require_float_argument(kOp, "self", self);
  require_broadcast(kOp, {{"grad_output", grad_output}, {"self", self}});
  const auto [grad, x] = promoted(kOp, {{"grad_output", grad_output}, {"self", self}});
  const Tensor rising = where(x < 3, grad * (x / 3 + 0.5), grad);
  return masked(rising, x <= -3, 0);
}
Tensor leaky_relu_backward(const Tensor& grad_output, const Tensor& self,
                           const Scalar& negative_slope, bool self_is_result) {
  constexpr const char* kOp = "aten::leaky_relu_backward";
  require_float_argument(kOp, "grad_output", grad_output);
  require_float_argument(kOp, "self", self);
  require_broadcast(kOp, {{"grad_output", grad_output}, {"self", self}});
  require_real(kOp, "negative_slope", negative_slope);
  if (self_is_result && negative_slope.to_double() < 0)
    refuse(ErrorKind::BadValue,
           {kOp, ": negative_slope is ", negative_slope,
            ", and self is the result, which does not tell what it was "
            "computed of; 0 and more are accepted, or what was given as self"});
  return where(self > 0, grad_output, grad_output * negative_slope);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         {"gelu(Tensor self, *, str approximate=\"none\") -> Tensor", "silu(Tensor self) -> Tensor",
          "gelu_backward(Tensor grad_output, Tensor self, *, str approximate=\"none\") -> Tensor",
          "silu_backward(Tensor grad_output, Tensor self) -> Tensor",
          "hardsigmoid(Tensor self) -> Tensor", "hardswish(Tensor self) -> Tensor",
          "log_sigmoid(Tensor self) -> Tensor",
          "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
          "hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor",
          "hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
          "leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool "
          "self_is_result) -> Tensor"},
         Tagged::Pointwise);
  for (const char* name : {"gelu", "silu", "hardsigmoid", "hardswish", "leaky_relu"}) {
    define_in_place(m, name, Form::WithFormula);
  }
  for (const char* name :
       {"gelu", "silu", "hardsigmoid", "hardswish", "log_sigmoid", "leaky_relu"}) {
    define_out(m, name, "out", Form::WithFormula);
  }
  m.impl("gelu_backward", &gelu_backward);
  m.impl("silu_backward", &silu_backward);
  m.impl("hardsigmoid_backward", &hardsigmoid_backward);
  m.impl("hardswish_backward", &hardswish_backward);
  m.impl("leaky_relu_backward", &leaky_relu_backward);
  m.derivative("gelu", {{"self", "gelu_backward(grad, self, approximate=approximate)"}});
  m.derivative("silu", {{"self", "silu_backward(grad, self)"}});
  m.derivative("hardsigmoid", {{"self", "hardsigmoid_backward(grad, self)"}});
  m.derivative("hardswish", {{"self", "hardswish_backward(grad, self)"}});
  m.derivative("log_sigmoid", {{"self", "grad * sigmoid(-self)"}});
  m.derivative("leaky_relu", {{"self", "leaky_relu_backward(grad, self, negative_slope, False)"}});
}

OPYARD_KERNELS(m) {
  m.impl("gelu", &gelu);
  m.impl("silu", &silu);
  m.impl("hardsigmoid", &hardsigmoid);
  m.impl("hardswish", &hardswish);
  m.impl("log_sigmoid", &log_sigmoid);
  m.impl("leaky_relu", &leaky_relu);
  const ActivationLoops& of = loops().activations;
  fusible("aten::silu", "", &silu, of.silu);
  fusible("aten::gelu", "", &gelu, of.gelu);
  fusible("aten::hardsigmoid", "", &hardsigmoid, of.hard_logistic);
  fusible("aten::hardswish", "", &hardswish, of.hard_swish);
  fusible("aten::leaky_relu", "", &leaky_relu, of.leaky);
  fusible("aten::log_sigmoid", "", &log_sigmoid, of.log_logistic);
}

}  // namespace opyard::kernels
