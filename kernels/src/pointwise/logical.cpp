// kernels/pointwise/logical.cpp: logical_not, _and, _or, _xor for every computed dtype (not zero is true,
// NaN included; results are bool), and bitwise_not, _and, _or, _xor for bool and int64.
#include <opyard/library.h>

#include "pointwise/loops.h"

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

constexpr Loops kLogicalNot = unary_loops<LogicalNot, bool, std::int64_t, float, double>();
template <template <typename> typename Op>
constexpr Loops kLogical = binary_loops<Op, bool, std::int64_t, float, double>();
constexpr Loops kBitwiseNot = unary_loops<BitwiseNot, bool, std::int64_t>();
template <template <typename> typename Op>
constexpr Loops kBitwise = binary_loops<Op, bool, std::int64_t>();

template <template <typename> typename Op>
Tensor logical(const char* op, const Tensor& self, const Tensor& other) {
  const Elementwise call(op, self, other);
  const DType dtype = call.common();
  return call.run({call.choose(kLogical<Op>, dtype), dtype, DType::Bool});
}
template <template <typename> typename Op, typename Other>
Tensor bitwise(const char* op, const Tensor& self, const Other& other) {
  const Elementwise call(op, self, other);
  const DType dtype = call.common();
  return call.run({call.choose(kBitwise<Op>, dtype), dtype, dtype});
}

Tensor logical_not(const Tensor& self) {
  const Elementwise call("aten::logical_not", self);
  return call.run({call.choose(kLogicalNot, self.dtype()), self.dtype(), DType::Bool});
}
Tensor logical_and(const Tensor& self, const Tensor& other) {
  return logical<LogicalAnd>("aten::logical_and", self, other);
}
Tensor logical_or(const Tensor& self, const Tensor& other) {
  return logical<LogicalOr>("aten::logical_or", self, other);
}
Tensor logical_xor(const Tensor& self, const Tensor& other) {
  return logical<LogicalXor>("aten::logical_xor", self, other);
}
Tensor bitwise_not(const Tensor& self) {
  const Elementwise call("aten::bitwise_not", self);
  return call.run({call.choose(kBitwiseNot, self.dtype()), self.dtype(), self.dtype()});
}
Tensor bitwise_and(const Tensor& self, const Tensor& other) {
  return bitwise<BitwiseAnd>("aten::bitwise_and.Tensor", self, other);
}
Tensor bitwise_or(const Tensor& self, const Tensor& other) {
  return bitwise<BitwiseOr>("aten::bitwise_or.Tensor", self, other);
}
Tensor bitwise_xor(const Tensor& self, const Tensor& other) {
  return bitwise<BitwiseXor>("aten::bitwise_xor.Tensor", self, other);
}
Tensor bitwise_and_scalar(const Tensor& self, const Scalar& other) {
  return bitwise<BitwiseAnd>("aten::bitwise_and.Scalar", self, other);
}
Tensor bitwise_or_scalar(const Tensor& self, const Scalar& other) {
  return bitwise<BitwiseOr>("aten::bitwise_or.Scalar", self, other);
}
Tensor bitwise_xor_scalar(const Tensor& self, const Scalar& other) {
  return bitwise<BitwiseXor>("aten::bitwise_xor.Scalar", self, other);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("logical_not(Tensor self) -> Tensor");
  m.def("logical_and(Tensor self, Tensor other) -> Tensor");
  m.def("logical_or(Tensor self, Tensor other) -> Tensor");
  m.def("logical_xor(Tensor self, Tensor other) -> Tensor");
  m.def("bitwise_not(Tensor self) -> Tensor");
  m.def("bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor");
  m.def("bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor");
  m.def("bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor");
  m.def("bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor");
  m.def("bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor");
  m.def("bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor");
}

OPYARD_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("logical_not", &logical_not);
  m.impl("logical_and", &logical_and);
  m.impl("logical_or", &logical_or);
  m.impl("logical_xor", &logical_xor);
  m.impl("bitwise_not", &bitwise_not);
  m.impl("bitwise_and.Tensor", &bitwise_and);
  m.impl("bitwise_and.Scalar", &bitwise_and_scalar);
  m.impl("bitwise_or.Tensor", &bitwise_or);
  m.impl("bitwise_or.Scalar", &bitwise_or_scalar);
  m.impl("bitwise_xor.Tensor", &bitwise_xor);
  m.impl("bitwise_xor.Scalar", &bitwise_xor_scalar);
}

}  // namespace opyard::kernels
