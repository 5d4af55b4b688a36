// kernels/pointwise/power.cpp: pow with tensor and number on either side.
//
// Powers of integers wrap. A negative exponent has no integer result: as a number it is refused, in
// a tensor the power is what is left after cutting (1 for base 1, 1 or -1 for base -1, else 0).
// bool has no powers.
#include <opyard/library.h>

#include <cmath>

#include "common/builds.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "pointwise/loops.h"

namespace opyard::kernels {
namespace {

template <typename T>
struct Power {
  static T apply(T base, T exponent) {
    if constexpr (std::is_integral_v<T>) {
      if (exponent < 0) return base == 1 ? 1 : base == -1 ? ((exponent & 1) != 0 ? -1 : 1) : 0;
      T result = 1;
      for (; exponent > 0; exponent >>= 1) {
        if ((exponent & 1) != 0) result = multiply(result, base);
        base = multiply(base, base);
      }
      return result;
    } else {
      if constexpr (is_complex_type<T>) {  // by a logarithm, which 0 has not
        if (exponent == T(0)) return T(1);
        if (exponent == T(1)) return base;
      }
      return std::pow(base, exponent);
    }
  }
};

// Of uint64 that int64 carries: loops/loop.h [Unsigned].
template <typename T>
struct PowerOfUnsigned {
  static T apply(T base, T exponent) {
    T result = 1;
    for (auto left = std::uint64_t(exponent); left > 0; left >>= 1) {
      if ((left & 1) != 0) result = multiply(result, base);
      base = multiply(base, base);
    }
    return result;
  }
};
constexpr Loops kPowerOfUnsigned = binary_loops<PowerOfUnsigned, std::int64_t>();
constexpr Loops kPower = binary_loops<Power, std::int64_t, float, double, Complex64, Complex128>();

Computation power(const Elementwise& call, const Loops& loops) {
  const DType dtype = call.common();
  const bool is_kept = &loops != &kPower || dtype != DType::UInt64;
  return {call.choose_for_all(is_kept ? loops : kPowerOfUnsigned, dtype), dtype, dtype};
}

// Powers that need no logarithm, as PyTorch chooses them: the half of -inf is NaN.
const Loops& loops_of(const Scalar& exponent, DType dtype) {
  const UnaryLoops& of = loops().unary;
  const auto power = exponent.to_complex();
  if (power == 2.0) return loops().arithmetic.square;
  if (is_complex(dtype)) return kPower;
  if (power == 3.0) return of.cube;
  if (!is_floating_point(dtype)) return kPower;
  if (power == 0.5) return of.square_root;
  if (power == -0.5) return of.reciprocal_root;
  if (power == -1.0) return of.reciprocal;
  if (power == -2.0) return of.reciprocal_square;
  return kPower;
}

Tensor pow_tensor_scalar(const Tensor& self, const Scalar& exponent) {
  Elementwise call("aten::pow.Tensor_Scalar", self);
  call.input("exponent", exponent);
  if (is_integral(call.common()) && exponent.to_int() < 0) {
    refuse(ErrorKind::BadValue,
           {call.op(), ": self is ", self, " and exponent is ", exponent,
            "; integers have no negative powers, so make self or exponent a float"});
  }
  return call.run(power(call, loops_of(exponent, call.common())));
}

Tensor pow_tensor_tensor(const Tensor& self, const Tensor& exponent) {
  Elementwise call("aten::pow.Tensor_Tensor", self);
  call.input("exponent", exponent);
  return call.run(power(call, kPower));
}

Tensor pow_scalar(const Scalar& self, const Tensor& exponent) {
  Elementwise call("aten::pow.Scalar");
  call.input("self", self);
  call.input("exponent", exponent);
  return call.run(power(call, kPower));
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor");
  m.def("pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor");
  m.def("pow.Scalar(Scalar self, Tensor exponent) -> Tensor");
  define_form(m, "pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)", Form::WithFormula);
  define_form(m, "pow_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)", Form::WithFormula);
}

OPYARD_KERNELS(m) {
  name_build(m);
  m.impl("pow.Tensor_Scalar", &pow_tensor_scalar);
  m.impl("pow.Tensor_Tensor", &pow_tensor_tensor);
  m.impl("pow.Scalar", &pow_scalar);
}

}  // namespace opyard::kernels
