// loops/logical.cpp: logical and bitwise loops.
#include "loops/elementwise_loops.h"
#include "loops/kinds.h"

namespace opyard::kernels {
namespace {

template <typename T>
struct LogicalNot {
  static bool apply(T a) { return a == T(0); }
};
template <typename T>
struct LogicalAnd {
  static bool apply(T a, T b) { return a != T(0) && b != T(0); }
};
template <typename T>
struct LogicalOr {
  static bool apply(T a, T b) { return a != T(0) || b != T(0); }
};
template <typename T>
struct LogicalXor {
  static bool apply(T a, T b) { return (a != T(0)) != (b != T(0)); }
};
template <typename T>
struct BitwiseNot {
  static T apply(T a) {
    if constexpr (std::is_same_v<T, bool>) {
      return !a;
    } else {
      return ~a;
    }
  }
};
template <typename T>
struct BitwiseAnd {
  static T apply(T a, T b) { return a & b; }
};
template <typename T>
struct BitwiseOr {
  static T apply(T a, T b) { return a | b; }
};
template <typename T>
struct BitwiseXor {
  static T apply(T a, T b) { return a ^ b; }
};

template <template <typename> typename Op>
constexpr Loops kTruth =
    binary_loops<Op, bool, std::int64_t, float, double, Complex64, Complex128>();
template <template <typename> typename Op>
constexpr Loops kBits = binary_loops<Op, bool, std::int64_t>();

}  // namespace

constexpr LogicalLoops kLogical = {
    .logical_not =
        unary_loops<LogicalNot, bool, std::int64_t, float, double, Complex64, Complex128>(),
    .logical_and = kTruth<LogicalAnd>,
    .logical_or = kTruth<LogicalOr>,
    .logical_xor = kTruth<LogicalXor>,
    .bitwise_not = unary_loops<BitwiseNot, bool, std::int64_t>(),
    .bitwise_and = kBits<BitwiseAnd>,
    .bitwise_or = kBits<BitwiseOr>,
    .bitwise_xor = kBits<BitwiseXor>,
};

}  // namespace opyard::kernels
