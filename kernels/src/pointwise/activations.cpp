// kernels/pointwise/activations.cpp: gelu and silu, each in one loop, and their backward.
//
// Other activations are made of pointwise operators: composition/activations.cpp.
#include <opyard/library.h>

#include <cmath>
#include <string_view>

#include "common/block_functions.h"
#include "common/builds.h"
#include "common/check.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "common/ops.h"
#include "pointwise/elementwise.h"

namespace opyard::kernels {
namespace {

using namespace ops;

constexpr double kTanhCubic = 0.044715;
constexpr double kTanhFactor = M_SQRT2 * M_2_SQRTPI * 0.5;

void require_float(const char* op, const char* argument, const Tensor& tensor) {
  require_defined(op, argument, tensor);
  if (!is_floating_point(tensor.dtype())) {
    refuse(ErrorKind::BadArgument, {op, ": ", argument, " is ", tensor,
                                    "; a float is needed, to which aten::to.dtype converts"});
  }
}

Tensor of_floats(const char* op, const Loops& loops, const Tensor& self) {
  require_float(op, "self", self);
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
  const TranscendentalLoops& of = loops().transcendental;
  return of_floats(kOp, by_tanh ? of.gelu_by_tanh : of.gelu, self);
}
Tensor silu(const Tensor& self) {
  return of_floats("aten::silu", loops().transcendental.silu, self);
}

// x F(x), where F is the normal distribution or near it: F + x F'.
Tensor gelu_backward(const Tensor& grad_output, const Tensor& self, std::string_view approximate) {
  constexpr const char* kOp = "aten::gelu_backward";
  require_float(kOp, "grad_output", grad_output);
  require_float(kOp, "self", self);
  if (!is_by_tanh(kOp, approximate)) {
    const Tensor below = (erf(self * M_SQRT1_2) + 1) * 0.5;
    const Tensor density = exp(self * self * -0.5) * (M_2_SQRTPI * M_SQRT1_2 * 0.5);
    return grad_output * (below + self * density);
  }
  const Tensor square = self * self;
  const Tensor bent = tanh((self + square * self * kTanhCubic) * kTanhFactor);
  const Tensor slope = (square * (3 * kTanhCubic) + 1) * kTanhFactor;
  return grad_output * ((bent + 1) * 0.5 + self * (1 - bent * bent) * slope * 0.5);
}
Tensor silu_backward(const Tensor& grad_output, const Tensor& self) {
  constexpr const char* kOp = "aten::silu_backward";
  require_float(kOp, "grad_output", grad_output);
  require_float(kOp, "self", self);
  const Tensor gate = sigmoid(self);
  return grad_output * gate * (self * (1 - gate) + 1);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         {"gelu(Tensor self, *, str approximate=\"none\") -> Tensor", "silu(Tensor self) -> Tensor",
          "gelu_backward(Tensor grad_output, Tensor self, *, str approximate=\"none\") -> Tensor",
          "silu_backward(Tensor grad_output, Tensor self) -> Tensor"},
         Tagged::Pointwise);
  for (const char* name : {"gelu", "silu"}) {
    define_in_place(m, name, Form::WithFormula);
    define_out(m, name, "out", Form::WithFormula);
  }
  m.impl("gelu_backward", &gelu_backward);
  m.impl("silu_backward", &silu_backward);
  m.derivative("gelu", {{"self", "gelu_backward(grad, self, approximate=approximate)"}});
  m.derivative("silu", {{"self", "silu_backward(grad, self)"}});
}

OPYARD_KERNELS(m) {
  m.impl("gelu", &gelu);
  m.impl("silu", &silu);
  fusible("aten::silu", "", &silu, loops().transcendental.silu);
  fusible("aten::gelu", "", &gelu, loops().transcendental.gelu);
}

}  // namespace opyard::kernels
