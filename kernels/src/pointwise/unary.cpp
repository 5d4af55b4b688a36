// kernels/pointwise/unary.cpp: neg, abs, reciprocal, sqrt, exp, log, tanh, sigmoid.
//
// neg and abs keep the dtype, and wrap at -2^63; the others give floats, float32 for bool and
// int64.
//
// exp, log and tanh are the C library's. Eigen's vector forms (3.4.0, SSE2, against glibc 2.36)
// were no faster for exp and log (2.3 against 2.0 and 2.7 against 2.9 ns an element), and 1.3
// against up to 20 ns for tanh. But they give 2.9e-39 for exp(-inf), are off by up to 7 units in
// the last place for tanh, and differ between a vector and its tail, so that an element's result
// would depend on where it lies. Measure all of that before changing it.
#include <opyard/library.h>

#include <cmath>

#include "pointwise/loops.h"

namespace opyard::kernels {
namespace {

template <typename T>
struct Negative {
  static T apply(T a) {
    if constexpr (std::is_integral_v<T>) {
      return subtract(T(0), a);
    } else {
      return -a;
    }
  }
};
template <typename T>
struct Absolute {
  static T apply(T a) {
    if constexpr (std::is_same_v<T, bool>) {
      return a;
    } else if constexpr (std::is_integral_v<T>) {
      return a < 0 ? subtract(T(0), a) : a;
    } else {
      return std::abs(a);
    }
  }
};
template <typename T>
struct Reciprocal {
  static T apply(T a) { return T(1) / a; }
};
template <typename T>
struct SquareRoot {
  static T apply(T a) { return std::sqrt(a); }
};
template <typename T>
struct Exponential {
  static T apply(T a) { return std::exp(a); }
};
template <typename T>
struct Logarithm {
  static T apply(T a) { return std::log(a); }
};
template <typename T>
struct HyperbolicTangent {
  static T apply(T a) { return std::tanh(a); }
};
template <typename T>
struct Logistic {
  static T apply(T a) { return T(1) / (T(1) + std::exp(-a)); }
};

constexpr Loops kNegative = unary_loops<Negative, std::int64_t, float, double>();
constexpr Loops kAbsolute = unary_loops<Absolute, bool, std::int64_t, float, double>();
template <template <typename> typename Op>
constexpr Loops kFloat = unary_loops<Op, float, double>();

Tensor keeping_dtype(const char* op, const Loops& loops, const Tensor& self) {
  const Elementwise call(op, self);
  return call.run({call.choose(loops, self.dtype()), self.dtype(), self.dtype()});
}

template <template <typename> typename Op>
Tensor in_floats(const char* op, const Tensor& self) {
  const Elementwise call(op, self);
  const DType dtype = float_for(self.dtype());
  return call.run({call.choose(kFloat<Op>, dtype), dtype, dtype});
}

Tensor neg(const Tensor& self) { return keeping_dtype("aten::neg", kNegative, self); }
Tensor abs(const Tensor& self) { return keeping_dtype("aten::abs", kAbsolute, self); }
Tensor reciprocal(const Tensor& self) { return in_floats<Reciprocal>("aten::reciprocal", self); }
Tensor sqrt(const Tensor& self) { return in_floats<SquareRoot>("aten::sqrt", self); }
Tensor exp(const Tensor& self) { return in_floats<Exponential>("aten::exp", self); }
Tensor log(const Tensor& self) { return in_floats<Logarithm>("aten::log", self); }
Tensor tanh(const Tensor& self) { return in_floats<HyperbolicTangent>("aten::tanh", self); }
Tensor sigmoid(const Tensor& self) { return in_floats<Logistic>("aten::sigmoid", self); }

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
}

OPYARD_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("neg", &neg);
  m.impl("abs", &abs);
  m.impl("reciprocal", &reciprocal);
  m.impl("sqrt", &sqrt);
  m.impl("exp", &exp);
  m.impl("log", &log);
  m.impl("tanh", &tanh);
  m.impl("sigmoid", &sigmoid);
}

}  // namespace opyard::kernels
