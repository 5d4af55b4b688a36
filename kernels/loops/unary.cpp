// loops/unary.cpp: what one element becomes, where there is an instruction for it.
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
}  // namespace

constexpr UnaryLoops kUnary = {
    .negative = unary_loops<Negative, std::int64_t, float, double>(),
    .absolute = unary_loops<Absolute, bool, std::int64_t, float, double>(),
    .reciprocal = unary_loops<Reciprocal, float, double>(),
    .square_root = unary_loops<SquareRoot, float, double>(),
};

}  // namespace opyard::kernels
