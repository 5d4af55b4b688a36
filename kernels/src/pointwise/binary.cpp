// kernels/pointwise/binary.cpp: atan2, hypot, copysign, logaddexp, xlogy, fmod and their forms.
//
// fmod has the sign of self, and remainder that of other; an integer divided by zero raises.
// The others give floats, float32 for bool and int64.
#include <cmath>
#include <complex>
#include <limits>

#include "common/builds.h"
#include "common/copy.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "pointwise/divisor.h"
#include "pointwise/loops.h"
#include "pointwise/rest.h"

namespace opyard::kernels {
namespace {

// cabs() computes what hypot() does, of which glibc 2.35 has a new version: older ones lack that.
template <typename T>
struct Hypotenuse {
  static T apply(T a, T b) { return std::abs(std::complex<T>(a, b)); }
};
template <typename T>
struct WithSign {
  static T apply(T a, T sign) { return std::copysign(a, sign); }
};
template <typename T>
struct LogOfSum {
  static T apply(T a, T b) {
    if (std::isinf(a) && a == b) return a;
    const T larger = a > b || is_nan(a) ? a : b;
    return larger + std::log1p(std::exp(-std::abs(a - b)));
  }
};
template <typename T>
struct TimesLog {
  static T apply(T a, T b) { return a == T(0) && !is_nan(b) ? T(0) : a * std::log(b); }
};
template <typename T>
struct Truncated {
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return b == T(-1) || b == T(0) ? T(0) : a % b;
    } else {
      return truncated_rest(a, b);
    }
  }
};

template <template <typename> typename Op>
constexpr Loops kBinaryFloats = binary_loops<Op, float, double>();
constexpr Loops kTruncated = binary_loops<Truncated, std::int64_t, float, double>();

// Of uint64 that int64 carries: loops/loop.h [Unsigned].
template <typename T>
struct TruncatedUnsigned {
  static T apply(T a, T b) { return b == 0 ? 0 : T(std::uint64_t(a) % std::uint64_t(b)); }
};
constexpr Loops kTruncatedUnsigned = binary_loops<TruncatedUnsigned, std::int64_t>();
const Loops& truncated_loops(DType dtype) {
  return dtype == DType::UInt64 ? kTruncatedUnsigned : kTruncated;
}

Computation binary_in_floats(const Elementwise& call, const Loops& loops) {
  const DType dtype = float_for(call.common());
  return {call.choose(loops, dtype), dtype, dtype};
}

#define FORMS(name, loops)                                                   \
  Tensor name##_of(const Tensor& self, const Tensor& other) {                \
    const Elementwise call("aten::" #name, self, other);                     \
    return call.run(binary_in_floats(call, loops));                          \
  }                                                                          \
  Tensor& name##_in_place(Tensor& self, const Tensor& other) {               \
    const Elementwise call("aten::" #name "_", self, other);                 \
    return call.run_into("self", self, binary_in_floats(call, loops));       \
  }                                                                          \
  Tensor& name##_out(const Tensor& self, const Tensor& other, Tensor& out) { \
    const Elementwise call("aten::" #name ".out", self, other);              \
    return call.run_into("out", out, binary_in_floats(call, loops));         \
  }
FORMS(atan2, loops().transcendental.angle)
FORMS(hypot, kBinaryFloats<Hypotenuse>)
#undef FORMS

Tensor copysign(const Tensor& self, const Tensor& other) {
  const Elementwise call("aten::copysign.Tensor", self, other);
  return call.run(binary_in_floats(call, kBinaryFloats<WithSign>));
}
Tensor copysign_number(const Tensor& self, const Scalar& other) {
  const Elementwise call("aten::copysign.Scalar", self, other);
  return call.run(binary_in_floats(call, kBinaryFloats<WithSign>));
}
Tensor logaddexp(const Tensor& self, const Tensor& other) {
  const Elementwise call("aten::logaddexp", self, other);
  return call.run(binary_in_floats(call, kBinaryFloats<LogOfSum>));
}
Tensor xlogy(const Tensor& self, const Tensor& other) {
  const Elementwise call("aten::xlogy.Tensor", self, other);
  return call.run(binary_in_floats(call, kBinaryFloats<TimesLog>));
}
Tensor xlogy_other(const Tensor& self, const Scalar& other) {
  const Elementwise call("aten::xlogy.Scalar_Other", self, other);
  return call.run(binary_in_floats(call, kBinaryFloats<TimesLog>));
}
Tensor xlogy_self(const Scalar& self, const Tensor& other) {
  Elementwise call("aten::xlogy.Scalar_Self");
  call.input("self", self);
  call.input("other", other);
  return call.run(binary_in_floats(call, kBinaryFloats<TimesLog>));
}

Tensor fmod(const Tensor& self, const Tensor& other) {
  const Elementwise call("aten::fmod.Tensor", self, other);
  const DType dtype = call.common();
  const Loop loop = call.choose_for_all(truncated_loops(dtype), dtype);
  require_divisor(call, other, dtype);
  return call.run({loop, dtype, dtype});
}
Tensor fmod_number(const Tensor& self, const Scalar& other) {
  const Elementwise call("aten::fmod.Scalar", self, other);
  const DType dtype = call.common();
  const Loop loop = call.choose_for_all(truncated_loops(dtype), dtype);
  require_divisor(call, other, dtype);
  return call.run({loop, dtype, dtype});
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         {"atan2(Tensor self, Tensor other) -> Tensor",
          "atan2_(Tensor(a!) self, Tensor other) -> Tensor(a!)",
          "atan2.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
          "hypot(Tensor self, Tensor other) -> Tensor",
          "hypot_(Tensor(a!) self, Tensor other) -> Tensor(a!)",
          "hypot.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
          "copysign.Tensor(Tensor self, Tensor other) -> Tensor",
          "copysign.Scalar(Tensor self, Scalar other) -> Tensor",
          "logaddexp(Tensor self, Tensor other) -> Tensor",
          "xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
          "xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor",
          "xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor",
          "fmod.Tensor(Tensor self, Tensor other) -> Tensor",
          "fmod.Scalar(Tensor self, Scalar other) -> Tensor"},
         Tagged::Pointwise);
  define_in_place(m, "copysign.Tensor", Form::WithFormula);
  define_in_place(m, "copysign.Scalar", Form::WithFormula);
  define_in_place(m, "xlogy.Tensor", Form::WithFormula);
  define_in_place(m, "xlogy.Scalar_Other", Form::WithFormula);
  define_in_place(m, "fmod.Tensor", Form::WithFormula);
  define_in_place(m, "fmod.Scalar", Form::WithFormula);
  define_out(m, "copysign.Tensor", "out", Form::WithFormula);
  define_out(m, "logaddexp", "out", Form::WithFormula);
  define_out(m, "fmod.Tensor", "Tensor_out", Form::WithFormula);
  define_out(m, "fmod.Scalar", "Scalar_out", Form::WithFormula);
  m.derivative(
      "atan2",
      {{"self", "sum_to(unless_over_0(grad * other, self * self + other * other), self)"},
       {"other", "sum_to(unless_over_0(grad * -self, self * self + other * other), other)"}});
  m.derivative("hypot", {{"self", "sum_to(unless_over_0(grad * self, result), self)"},
                         {"other", "sum_to(unless_over_0(grad * other, result), other)"}});
  m.derivative("copysign.Tensor",
               {{"self", "sum_to(grad * sign(self) * sign(result), self)"}, {"other", "None"}});
  m.derivative("copysign.Scalar", {{"self", "grad * sign(self) * sign(result)"}});
  m.derivative("logaddexp", {{"self", "sum_to(grad * sigmoid(self - other), self)"},
                             {"other", "sum_to(grad * sigmoid(other - self), other)"}});
  m.derivative("xlogy.Tensor",
               {{"self",
                 "sum_to(masked_fill(xlogy(grad, other), logical_and(self == 0, other <= 0), "
                 "0), self)"},
                {"other", "sum_to(grad * self / other, other)"}});
  m.derivative("xlogy.Scalar_Other", {{"self", "xlogy_by_number_backward(grad, self, other)"}});
  m.derivative("xlogy.Scalar_Self", {{"other", "grad * self / other"}});
  m.derivative("fmod.Tensor", {{"self", "sum_to(grad, self)"},
                               {"other", "sum_to(-grad * trunc(detach(self / other)), other)"}});
  m.derivative("fmod.Scalar", {{"self", "grad"}});
}

OPYARD_KERNELS(m) {
  m.impl("atan2", &atan2_of);
  m.impl("atan2_", &atan2_in_place);
  m.impl("atan2.out", &atan2_out);
  m.impl("hypot", &hypot_of);
  m.impl("hypot_", &hypot_in_place);
  m.impl("hypot.out", &hypot_out);
  m.impl("copysign.Tensor", &copysign);
  m.impl("copysign.Scalar", &copysign_number);
  m.impl("logaddexp", &logaddexp);
  m.impl("xlogy.Tensor", &xlogy);
  m.impl("xlogy.Scalar_Other", &xlogy_other);
  m.impl("xlogy.Scalar_Self", &xlogy_self);
  m.impl("fmod.Tensor", &fmod);
  m.impl("fmod.Scalar", &fmod_number);
}

}  // namespace opyard::kernels
