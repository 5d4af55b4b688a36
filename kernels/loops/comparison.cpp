// loops/comparison.cpp: elementwise comparison loops.
#include "loops/elementwise_loops.h"
#include "loops/kinds.h"

namespace opyard::kernels {
namespace {

template <typename T>
struct Equal {
  static bool apply(T a, T b) { return a == b; }
};
template <typename T>
struct Unequal {
  static bool apply(T a, T b) { return a != b; }
};
template <typename T>
struct Less {
  static bool apply(T a, T b) { return a < b; }
};
template <typename T>
struct LessOrEqual {
  static bool apply(T a, T b) { return a <= b; }
};
template <typename T>
struct Greater {
  static bool apply(T a, T b) { return a > b; }
};
template <typename T>
struct GreaterOrEqual {
  static bool apply(T a, T b) { return a >= b; }
};

template <template <typename> typename Op>
constexpr Loops kCompare = binary_loops<Op, bool, std::int64_t, float, double>();
// Complex numbers have no order.
template <template <typename> typename Op>
constexpr Loops kAlike =
    binary_loops<Op, bool, std::int64_t, float, double, Complex64, Complex128>();

}  // namespace

constexpr ComparisonLoops kComparison = {
    .equal = kAlike<Equal>,
    .unequal = kAlike<Unequal>,
    .less = kCompare<Less>,
    .less_or_equal = kCompare<LessOrEqual>,
    .greater = kCompare<Greater>,
    .greater_or_equal = kCompare<GreaterOrEqual>,
};

}  // namespace opyard::kernels
