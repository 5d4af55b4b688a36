// loops/unary.cpp: unary elementwise loops with processor instructions.
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
template <typename T>
struct ReciprocalRoot {
  static T apply(T a) { return divide(T(1), T(std::sqrt(a))); }
};

template <typename T>
struct Cube {
  static T apply(T a) { return multiply(multiply(a, a), a); }
};
template <typename T>
struct ReciprocalSquare {
  static T apply(T a) { return divide(T(1), T(a * a)); }
};

// Integers are rounded already.
#define ROUNDING(Name, value)                \
  template <typename T>                      \
  struct Name {                              \
    static T apply(T a) {                    \
      if constexpr (std::is_integral_v<T>) { \
        return a;                            \
      } else {                               \
        return value;                        \
      }                                      \
    }                                        \
  };
ROUNDING(Ceiling, std::ceil(a))
ROUNDING(Floor, std::floor(a))
ROUNDING(Nearest, std::nearbyint(a))
ROUNDING(Truncated, std::trunc(a))
ROUNDING(Fraction, a - std::trunc(a))
#undef ROUNDING

// 0 for NaN.
template <typename T>
struct Sign {
  static T apply(T a) {
    if constexpr (std::is_same_v<T, bool>) {
      return a;
    } else {
      return T(int(a > 0) - int(a < 0));
    }
  }
};

}  // namespace

constexpr UnaryLoops kUnary = {
    .negative = unary_loops<Negative, std::int64_t, float, double, Complex64, Complex128>(),
    .absolute = unary_loops<Absolute, bool, std::int64_t, float, double, Complex64, Complex128>(),
    .reciprocal = unary_loops<Reciprocal, float, double, Complex64, Complex128>(),
    .square_root = unary_loops<SquareRoot, float, double, Complex64, Complex128>(),
    .reciprocal_root = unary_loops<ReciprocalRoot, float, double, Complex64, Complex128>(),
    .cube = unary_loops<Cube, std::int64_t, float, double>(),
    .reciprocal_square = unary_loops<ReciprocalSquare, float, double>(),
    .ceiling = unary_loops<Ceiling, std::int64_t, float, double>(),
    .floor = unary_loops<Floor, std::int64_t, float, double>(),
    .nearest = unary_loops<Nearest, std::int64_t, float, double>(),
    .truncated = unary_loops<Truncated, std::int64_t, float, double>(),
    .fraction = unary_loops<Fraction, std::int64_t, float, double>(),
    .sign = unary_loops<Sign, bool, std::int64_t, float, double>(),
};

}  // namespace opyard::kernels
