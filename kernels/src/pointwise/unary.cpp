// kernels/pointwise/unary.cpp: neg, abs, reciprocal, sqrt, exp, log, tanh, sigmoid.
//
// neg and abs keep the dtype, and wrap at the smallest integer; abs of a complex number is real.
// The others give floats, float32 for bool and integers.
//
// loops/transcendental.cpp says how exact exp, log, tanh and sigmoid are.
#include <opyard/library.h>

#include "common/block_functions.h"
#include "common/builds.h"
#include "common/copy.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "pointwise/elementwise.h"

namespace opyard::kernels {
namespace {

Tensor keeping_dtype(const char* op, const Loops& loops, const Tensor& self) {
  if (Tensor result = of_alike(loops, self); result.defined()) return result;
  const Elementwise call(op, self);
  return call.run({call.choose_for_all(loops, self.dtype()), self.dtype(), self.dtype()});
}

Tensor unary_in_floats(const char* op, const Loops& loops, const Tensor& self) {
  if (self.defined() && category_of(self.dtype()) >= 2) {
    if (Tensor result = of_alike(loops, self); result.defined()) return result;
  }
  const Elementwise call(op, self);
  const DType dtype = float_for(self.dtype());
  return call.run({call.choose(loops, dtype), dtype, dtype});
}

Tensor neg(const Tensor& self) { return keeping_dtype("aten::neg", loops().unary.negative, self); }
Tensor abs_kernel(const Tensor& self) {
  const Elementwise call("aten::abs", self);
  if (is_wide_unsigned(self.dtype())) return row_major_copy(call.op(), self);
  return call.run(
      {call.choose(loops().unary.absolute, self.dtype()), self.dtype(), real_for(self.dtype())});
}
Tensor reciprocal(const Tensor& self) {
  return unary_in_floats("aten::reciprocal", loops().unary.reciprocal, self);
}
Tensor sqrt_kernel(const Tensor& self) {
  return unary_in_floats("aten::sqrt", loops().unary.square_root, self);
}
Tensor exp_kernel(const Tensor& self) {
  return unary_in_floats("aten::exp", loops().transcendental.exponential, self);
}
Tensor log_kernel(const Tensor& self) {
  return unary_in_floats("aten::log", loops().transcendental.logarithm, self);
}
Tensor tanh_kernel(const Tensor& self) {
  return unary_in_floats("aten::tanh", loops().transcendental.hyperbolic_tangent, self);
}
Tensor sigmoid_kernel(const Tensor& self) {
  return unary_in_floats("aten::sigmoid", loops().transcendental.logistic, self);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("neg(Tensor self) -> Tensor");
  m.def("abs(Tensor self) -> Tensor");
  m.def("reciprocal(Tensor self) -> Tensor");
  m.def("sqrt(Tensor self) -> Tensor");
  m.def("exp(Tensor self) -> Tensor");
  m.def("log(Tensor self) -> Tensor");
  m.def("tanh(Tensor self) -> Tensor");
  m.def("sigmoid(Tensor self) -> Tensor");
  for (const char* name : {"neg", "abs", "reciprocal", "sqrt", "exp", "log", "tanh", "sigmoid"}) {
    define_in_place(m, name, Form::WithFormula);
  }
}

OPYARD_KERNELS(m) {
  name_build(m);
  fusible("aten::neg", "", &neg, loops().unary.negative);
  fusible("aten::abs", "", &abs_kernel, loops().unary.absolute);
  fusible("aten::reciprocal", "", &reciprocal, loops().unary.reciprocal);
  fusible("aten::sqrt", "", &sqrt_kernel, loops().unary.square_root);
  fusible("aten::exp", "", &exp_kernel, loops().transcendental.exponential);
  fusible("aten::log", "", &log_kernel, loops().transcendental.logarithm);
  fusible("aten::tanh", "", &tanh_kernel, loops().transcendental.hyperbolic_tangent);
  fusible("aten::sigmoid", "", &sigmoid_kernel, loops().transcendental.logistic);
  m.impl("neg", &neg);
  m.impl("abs", &abs_kernel);
  m.impl("reciprocal", &reciprocal);
  m.impl("sqrt", &sqrt_kernel);
  m.impl("exp", &exp_kernel);
  m.impl("log", &log_kernel);
  m.impl("tanh", &tanh_kernel);
  m.impl("sigmoid", &sigmoid_kernel);
}

}  // namespace opyard::kernels
