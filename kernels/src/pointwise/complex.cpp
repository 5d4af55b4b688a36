// kernels/pointwise/complex.cpp: complex numbers of two parts, their conjugate, direction and
// angle: conj_physical, complex, polar, sgn, angle.
//
// Real numbers are their own conjugates; their direction is their sign, and their angle 0 or pi.
#include <opyard/library.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "common/block_functions.h"
#include "common/builds.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "common/ops.h"
#include "common/write.h"
#include "pointwise/loops.h"

namespace opyard::kernels {
namespace {

template <typename T>
struct Conjugate {
  static T apply(T x) { return std::conj(x); }
};
template <typename T>
struct Direction {
  static T apply(T x) {
    const auto size = std::abs(x);
    return size == 0 ? T(0) : x / size;
  }
};
template <typename T>
struct Angle {
  static auto apply(T x) {
    if constexpr (is_complex_type<T>) {
      return std::arg(x);
    } else {
      return std::isnan(x) ? x : x < 0 ? std::numbers::pi_v<T> : T(0);
    }
  }
};
template <typename T>
struct OfParts {
  static std::complex<T> apply(T real, T imaginary) { return {real, imaginary}; }
};
template <typename T>
struct OfAngle {
  static std::complex<T> apply(T size, T angle) {
    return {size * std::cos(angle), size * std::sin(angle)};
  }
};

constexpr Loops kConjugate = unary_loops<Conjugate, Complex64, Complex128>();
constexpr Loops kDirection = unary_loops<Direction, Complex64, Complex128>();
constexpr Loops kAngle = unary_loops<Angle, float, double, Complex64, Complex128>();
constexpr Loops kOfParts = binary_loops<OfParts, float, double>();
constexpr Loops kOfAngle = binary_loops<OfAngle, float, double>();

Computation conjugation(const Elementwise& call) {
  return {call.choose(kConjugate, call.common()), call.common(), call.common()};
}
Computation direction(const Elementwise& call) {
  const DType dtype = call.common();
  const Loops& of_reals = dtype == DType::UInt64 ? kSignOfUnsigned : loops().unary.sign;
  return {call.choose_for_all(is_complex(dtype) ? kDirection : of_reals, dtype), dtype, dtype};
}
Computation angle(const Elementwise& call) {
  const DType dtype = float_for(call.common());
  return {call.choose(kAngle, dtype), dtype, real_for(dtype)};
}
Computation of_two(const Elementwise& call, const Loops& loops, const char* name_a, const Tensor& a,
                   const char* name_b, const Tensor& b) {
  const DType dtype = a.dtype();
  if ((dtype != DType::Float32 && dtype != DType::Float64) || b.dtype() != dtype) {
    refuse(ErrorKind::BadArgument, {call.op(), ": ", name_a, " is ", a, " and ", name_b, " is ", b,
                                    "; accepted are two of float32 or two of float64"});
  }
  return {call.choose(loops, dtype), dtype, complex_for(dtype)};
}

Tensor conj_physical(const Tensor& self) {
  const Elementwise call("aten::conj_physical", self);
  return is_complex(self.dtype()) ? call.run(conjugation(call)) : self;
}
Tensor& conj_physical_out(const Tensor& self, Tensor& out) {
  const Elementwise call("aten::conj_physical.out", self);
  if (is_complex(self.dtype())) return call.run_into("out", out, conjugation(call));
  require_writable(call.op(), "out", out);
  require_result_sizes(call.op(), "out", out, self.sizes());
  ops::copy_into(out, self);
  return out;
}
Tensor& conj_physical_in_place(Tensor& self) {
  const Elementwise call("aten::conj_physical_", self);
  return is_complex(self.dtype()) ? call.run_into("self", self, conjugation(call)) : self;
}

Tensor sgn(const Tensor& self) {
  const Elementwise call("aten::sgn", self);
  return call.run(direction(call));
}
Tensor& sgn_out(const Tensor& self, Tensor& out) {
  const Elementwise call("aten::sgn.out", self);
  return call.run_into("out", out, direction(call));
}
Tensor& sgn_in_place(Tensor& self) {
  const Elementwise call("aten::sgn_", self);
  return call.run_into("self", self, direction(call));
}

Tensor angle_of(const Tensor& self) {
  const Elementwise call("aten::angle", self);
  return call.run(angle(call));
}
Tensor& angle_out(const Tensor& self, Tensor& out) {
  const Elementwise call("aten::angle.out", self);
  return call.run_into("out", out, angle(call));
}

// `names` and tensors of a call of two.
struct TwoParts {
  TwoParts(const char* op, const char* name_a, const Tensor& a, const char* name_b, const Tensor& b)
      : call(op) {
    call.input(name_a, a);
    call.input(name_b, b);
  }
  Elementwise call;
};

Tensor complex_of(const Tensor& real, const Tensor& imag) {
  const TwoParts two("aten::complex", "real", real, "imag", imag);
  return two.call.run(of_two(two.call, kOfParts, "real", real, "imag", imag));
}
Tensor& complex_out(const Tensor& real, const Tensor& imag, Tensor& out) {
  const TwoParts two("aten::complex.out", "real", real, "imag", imag);
  return two.call.run_into("out", out, of_two(two.call, kOfParts, "real", real, "imag", imag));
}
Tensor polar(const Tensor& abs, const Tensor& angle) {
  const TwoParts two("aten::polar", "abs", abs, "angle", angle);
  return two.call.run(of_two(two.call, kOfAngle, "abs", abs, "angle", angle));
}
Tensor& polar_out(const Tensor& abs, const Tensor& angle, Tensor& out) {
  const TwoParts two("aten::polar.out", "abs", abs, "angle", angle);
  return two.call.run_into("out", out, of_two(two.call, kOfAngle, "abs", abs, "angle", angle));
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         {"conj_physical(Tensor self) -> Tensor", "conj_physical_(Tensor(a!) self) -> Tensor(a!)",
          "conj_physical.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          "sgn(Tensor self) -> Tensor", "sgn_(Tensor(a!) self) -> Tensor(a!)",
          "sgn.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", "angle(Tensor self) -> Tensor",
          "angle.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"},
         Tagged::Pointwise);
  define(m, {"complex(Tensor real, Tensor imag) -> Tensor",
             "complex.out(Tensor real, Tensor imag, *, Tensor(a!) out) -> Tensor(a!)",
             "polar(Tensor abs, Tensor angle) -> Tensor",
             "polar.out(Tensor abs, Tensor angle, *, Tensor(a!) out) -> Tensor(a!)"});
  m.derivative("conj_physical", {{"self", "conj(grad)"}});
  m.derivative("sgn", {{"self", "sgn_backward(grad, self, result)"}});
  m.derivative("angle", {{"self", "angle_backward(grad, self)"}});
  m.derivative("complex",
               {{"real", "sum_to(real(grad), real)"}, {"imag", "sum_to(imag(grad), imag)"}});
  m.derivative("polar", {{"abs", "sum_to(real(grad * conj(sgn(result))), abs)"},
                         {"angle", "sum_to(imag(grad * conj(result)), angle)"}});
}

OPYARD_KERNELS(m) {
  name_build(m);
  fusible("aten::sgn", "", &sgn, loops().unary.sign);
  m.impl("conj_physical", &conj_physical);
  m.impl("conj_physical.out", &conj_physical_out);
  m.impl("conj_physical_", &conj_physical_in_place);
  m.impl("sgn", &sgn);
  m.impl("sgn.out", &sgn_out);
  m.impl("sgn_", &sgn_in_place);
  m.impl("angle", &angle_of);
  m.impl("angle.out", &angle_out);
  m.impl("complex", &complex_of);
  m.impl("complex.out", &complex_out);
  m.impl("polar", &polar);
  m.impl("polar.out", &polar_out);
}

}  // namespace opyard::kernels
