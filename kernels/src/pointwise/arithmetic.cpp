// kernels/pointwise/arithmetic.cpp: add, sub, rsub, mul and their in-place and out forms.
//
// Results have the promoted dtype of the inputs. Sums of bool are "or" and products "and";
// differences of bool have no meaning and are refused. `alpha` multiplies the second term: a
// number of the result's category or a lower one, and 1 or True if it is bool.
#include <opyard/library.h>

#include "common/block_functions.h"
#include "common/builds.h"
#include "common/kernels_block.h"
#include "pointwise/elementwise.h"

namespace opyard::kernels {
namespace {

Computation scaled_loops(const Elementwise& call, const Loops& plain, const Loops& scaled,
                         const Scalar& alpha) {
  const DType dtype = call.common();
  if (alpha.is_integral() && alpha.to_int() == 1)
    return {call.choose_for_all(plain, dtype), dtype, dtype};
  if (category_of(dtype_for(alpha)) > std::max(1, category_of(dtype)) ||
      (alpha.is_bool() && dtype != DType::Bool)) {
    refuse(ErrorKind::BadArgument,
           {call.op(), ": alpha is ", alpha, " and the result is ", dtype,
            "; accepted are a complex number where the result is complex, a float where it is a "
            "float or complex, an int everywhere, and a bool where it is bool"});
  }
  if (alpha.to_complex() == 1.0) return {call.choose_for_all(plain, dtype), dtype, dtype};
  return {call.choose_for_all(scaled, dtype), dtype, dtype, call.number("alpha", alpha, dtype)};
}

bool is_one_scalar(const Scalar& alpha) { return alpha.is_integral() && alpha.to_int() == 1; }

Computation sum_loops(const Elementwise& call, const Scalar& alpha) {
  return scaled_loops(call, loops().arithmetic.add, loops().arithmetic.add_scaled, alpha);
}
Computation difference(const Elementwise& call, const Scalar& alpha) {
  return scaled_loops(call, loops().arithmetic.subtract, loops().arithmetic.subtract_scaled, alpha);
}
Computation product_loops(const Elementwise& call) {
  const DType dtype = call.common();
  return {call.choose_for_all(loops().arithmetic.multiply, dtype), dtype, dtype, {}, true};
}

Tensor add_tensor(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (is_one_scalar(alpha)) {
    if (Tensor result = of_alike(loops().arithmetic.add, self, other); result.defined()) {
      return result;
    }
  }
  const Elementwise call("aten::add.Tensor", self, other);
  return call.run(sum_loops(call, alpha));
}
Tensor add_scalar(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  if (is_one_scalar(alpha)) {
    if (Tensor result = of_number("aten::add.Scalar", loops().arithmetic.add, self, other);
        result.defined()) {
      return result;
    }
  }
  const Elementwise call("aten::add.Scalar", self, other);
  return call.run(sum_loops(call, alpha));
}
Tensor& add_out(const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  const Elementwise call("aten::add.out", self, other);
  return call.run_into("out", out, sum_loops(call, alpha));
}
Tensor& add_tensor_in_place(Tensor& self, const Tensor& other, const Scalar& alpha) {
  const Elementwise call("aten::add_.Tensor", self, other);
  return call.run_into("self", self, sum_loops(call, alpha));
}
Tensor& add_scalar_in_place(Tensor& self, const Scalar& other, const Scalar& alpha) {
  const Elementwise call("aten::add_.Scalar", self, other);
  return call.run_into("self", self, sum_loops(call, alpha));
}

Tensor sub_tensor(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (is_one_scalar(alpha)) {
    if (Tensor result = of_alike(loops().arithmetic.subtract, self, other); result.defined()) {
      return result;
    }
  }
  const Elementwise call("aten::sub.Tensor", self, other);
  return call.run(difference(call, alpha));
}
Tensor sub_scalar(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  if (is_one_scalar(alpha)) {
    if (Tensor result = of_number("aten::sub.Scalar", loops().arithmetic.subtract, self, other);
        result.defined()) {
      return result;
    }
  }
  const Elementwise call("aten::sub.Scalar", self, other);
  return call.run(difference(call, alpha));
}
Tensor& sub_tensor_in_place(Tensor& self, const Tensor& other, const Scalar& alpha) {
  const Elementwise call("aten::sub_.Tensor", self, other);
  return call.run_into("self", self, difference(call, alpha));
}
Tensor& sub_scalar_in_place(Tensor& self, const Scalar& other, const Scalar& alpha) {
  const Elementwise call("aten::sub_.Scalar", self, other);
  return call.run_into("self", self, difference(call, alpha));
}
Tensor rsub_tensor(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  Elementwise call("aten::rsub.Tensor");
  call.input("other", other);
  call.input("self", self);
  return call.run(difference(call, alpha));
}
Tensor rsub_scalar(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  Elementwise call("aten::rsub.Scalar");
  call.input("other", other);
  call.input("self", self);
  return call.run(difference(call, alpha));
}

Tensor mul_tensor(const Tensor& self, const Tensor& other) {
  if (Tensor result = of_alike(loops().arithmetic.multiply, self, other); result.defined()) {
    return result;
  }
  const Elementwise call("aten::mul.Tensor", self, other);
  return call.run(product_loops(call));
}
Tensor mul_scalar(const Tensor& self, const Scalar& other) {
  if (Tensor result = of_number("aten::mul.Scalar", loops().arithmetic.multiply, self, other);
      result.defined()) {
    return result;
  }
  const Elementwise call("aten::mul.Scalar", self, other);
  return call.run(product_loops(call));
}
Tensor& mul_out(const Tensor& self, const Tensor& other, Tensor& out) {
  const Elementwise call("aten::mul.out", self, other);
  return call.run_into("out", out, product_loops(call));
}
Tensor& mul_tensor_in_place(Tensor& self, const Tensor& other) {
  const Elementwise call("aten::mul_.Tensor", self, other);
  return call.run_into("self", self, product_loops(call));
}
Tensor& mul_scalar_in_place(Tensor& self, const Scalar& other) {
  const Elementwise call("aten::mul_.Scalar", self, other);
  return call.run_into("self", self, product_loops(call));
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  m.def("add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor");
  m.def("add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)");
  m.def("add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
  m.def("add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)");
  m.def("sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  m.def("sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor");
  m.def("sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
  m.def("sub_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)");
  m.def("rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  m.def("rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor");
  m.def("mul.Tensor(Tensor self, Tensor other) -> Tensor");
  m.def("mul.Scalar(Tensor self, Scalar other) -> Tensor");
  m.def("mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)");
  m.def("mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)");
  m.def("mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)");
}

OPYARD_KERNELS(m) {
  name_build(m);
  fusible("aten::add", "Tensor", &add_tensor, loops().arithmetic.add,
          {.arithmetic = jit::BlockArithmetic::Add});
  fusible("aten::add", "Scalar", &add_scalar, loops().arithmetic.add,
          {.arithmetic = jit::BlockArithmetic::Add});
  fusible("aten::sub", "Tensor", &sub_tensor, loops().arithmetic.subtract,
          {.arithmetic = jit::BlockArithmetic::Subtract});
  fusible("aten::sub", "Scalar", &sub_scalar, loops().arithmetic.subtract,
          {.arithmetic = jit::BlockArithmetic::Subtract});
  fusible("aten::mul", "Tensor", &mul_tensor, loops().arithmetic.multiply,
          {.arithmetic = jit::BlockArithmetic::Multiply});
  fusible("aten::mul", "Scalar", &mul_scalar, loops().arithmetic.multiply,
          {.arithmetic = jit::BlockArithmetic::Multiply});
  m.impl("add.Tensor", &add_tensor);
  m.impl("add.Scalar", &add_scalar);
  m.impl("add.out", &add_out);
  m.impl("add_.Tensor", &add_tensor_in_place);
  m.impl("add_.Scalar", &add_scalar_in_place);
  m.impl("sub.Tensor", &sub_tensor);
  m.impl("sub.Scalar", &sub_scalar);
  m.impl("sub_.Tensor", &sub_tensor_in_place);
  m.impl("sub_.Scalar", &sub_scalar_in_place);
  m.impl("rsub.Tensor", &rsub_tensor);
  m.impl("rsub.Scalar", &rsub_scalar);
  m.impl("mul.Tensor", &mul_tensor);
  m.impl("mul.Scalar", &mul_scalar);
  m.impl("mul.out", &mul_out);
  m.impl("mul_.Tensor", &mul_tensor_in_place);
  m.impl("mul_.Scalar", &mul_scalar_in_place);
}

}  // namespace opyard::kernels
