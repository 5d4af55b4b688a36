// loops/arithmetic.cpp: sums, differences, products and quotients of two elements.
#include <cmath>

#include "loops/elementwise_loops.h"
#include "loops/kinds.h"

namespace opyard::kernels {
namespace {

template <typename T>
struct Add {
  static T apply(T a, T b) { return add(a, b); }
};
template <typename T>
struct AddScaled {
  static T apply(T a, T b, const Number& alpha) { return add(a, multiply(alpha.as<T>(), b)); }
};
template <typename T>
struct Subtract {
  static T apply(T a, T b) { return subtract(a, b); }
};
template <typename T>
struct SubtractScaled {
  static T apply(T a, T b, const Number& alpha) { return subtract(a, multiply(alpha.as<T>(), b)); }
};
template <typename T>
struct Multiply {
  static T apply(T a, T b) { return multiply(a, b); }
};
// The exponent 2 is common and needs no call: x * x is what pow gives, rounded once.
template <typename T>
struct Square {
  static T apply(T base, T) { return multiply(base, base); }
};
template <typename T>
struct Divide {
  static T apply(T a, T b) { return divide(a, b); }
};
template <typename T>
struct Truncate {
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;  // see pointwise/division.cpp
      return b == -1 ? subtract(T(0), a) : a / b;
    } else {
      return std::trunc(a / b);
    }
  }
};

}  // namespace

constexpr ArithmeticLoops kArithmetic = {
    .add = binary_loops<Add, bool, std::int64_t, float, double, Complex64, Complex128>(),
    .add_scaled =
        binary_loops<AddScaled, bool, std::int64_t, float, double, Complex64, Complex128>(),
    .subtract = binary_loops<Subtract, std::int64_t, float, double, Complex64, Complex128>(),
    .subtract_scaled =
        binary_loops<SubtractScaled, std::int64_t, float, double, Complex64, Complex128>(),
    .multiply = binary_loops<Multiply, bool, std::int64_t, float, double, Complex64, Complex128>(),
    .square = binary_loops<Square, std::int64_t, float, double, Complex64, Complex128>(),
    .divide = binary_loops<Divide, float, double, Complex64, Complex128>(),
    .truncate = binary_loops<Truncate, std::int64_t, float, double>(),
};

}  // namespace opyard::kernels
