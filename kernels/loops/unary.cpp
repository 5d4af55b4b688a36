// loops/unary.cpp: what one element becomes, if the processor has an instruction for it.
#include <cmath>

#include "loops/elementwise_loops.h"
#include "loops/kinds.h"

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
// Of a complex number, how far it is from 0.
template <typename T>
struct Absolute {
  static auto apply(T a) {
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
  static T apply(T a) { return divide(T(1), a); }
};
template <typename T>
struct SquareRoot {
  static T apply(T a) { return std::sqrt(a); }
};
}  // namespace

constexpr UnaryLoops kUnary = {
    .negative = unary_loops<Negative, std::int64_t, float, double, Complex64, Complex128>(),
    .absolute = unary_loops<Absolute, bool, std::int64_t, float, double, Complex64, Complex128>(),
    .reciprocal = unary_loops<Reciprocal, float, double, Complex64, Complex128>(),
    .square_root = unary_loops<SquareRoot, float, double, Complex64, Complex128>(),
};

}  // namespace opyard::kernels
