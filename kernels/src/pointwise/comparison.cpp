// kernels/pointwise/comparison.cpp: eq, ne, lt, le, gt, ge with a tensor or a number. Results are bool.
//
// Inputs are promoted first: int64[n] == 1.5 compares as float32.
#include <opyard/library.h>

#include "pointwise/loops.h"

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

template <template <typename> typename Op, typename Other>
Tensor compare(const char* op, const Tensor& self, const Other& other) {
  const Elementwise call(op, self, other);
  const DType dtype = call.common();
  return call.run({call.choose(kCompare<Op>, dtype), dtype, DType::Bool});
}

Tensor eq_tensor(const Tensor& self, const Tensor& other) {
  return compare<Equal>("aten::eq.Tensor", self, other);
}
Tensor eq_scalar(const Tensor& self, const Scalar& other) {
  return compare<Equal>("aten::eq.Scalar", self, other);
}
Tensor ne_tensor(const Tensor& self, const Tensor& other) {
  return compare<Unequal>("aten::ne.Tensor", self, other);
}
Tensor ne_scalar(const Tensor& self, const Scalar& other) {
  return compare<Unequal>("aten::ne.Scalar", self, other);
}
Tensor lt_tensor(const Tensor& self, const Tensor& other) {
  return compare<Less>("aten::lt.Tensor", self, other);
}
Tensor lt_scalar(const Tensor& self, const Scalar& other) {
  return compare<Less>("aten::lt.Scalar", self, other);
}
Tensor le_tensor(const Tensor& self, const Tensor& other) {
  return compare<LessOrEqual>("aten::le.Tensor", self, other);
}
Tensor le_scalar(const Tensor& self, const Scalar& other) {
  return compare<LessOrEqual>("aten::le.Scalar", self, other);
}
Tensor gt_tensor(const Tensor& self, const Tensor& other) {
  return compare<Greater>("aten::gt.Tensor", self, other);
}
Tensor gt_scalar(const Tensor& self, const Scalar& other) {
  return compare<Greater>("aten::gt.Scalar", self, other);
}
Tensor ge_tensor(const Tensor& self, const Tensor& other) {
  return compare<GreaterOrEqual>("aten::ge.Tensor", self, other);
}
Tensor ge_scalar(const Tensor& self, const Scalar& other) {
  return compare<GreaterOrEqual>("aten::ge.Scalar", self, other);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("eq.Tensor(Tensor self, Tensor other) -> Tensor");
  m.def("eq.Scalar(Tensor self, Scalar other) -> Tensor");
  m.def("ne.Tensor(Tensor self, Tensor other) -> Tensor");
  m.def("ne.Scalar(Tensor self, Scalar other) -> Tensor");
  m.def("lt.Tensor(Tensor self, Tensor other) -> Tensor");
  m.def("lt.Scalar(Tensor self, Scalar other) -> Tensor");
  m.def("le.Tensor(Tensor self, Tensor other) -> Tensor");
  m.def("le.Scalar(Tensor self, Scalar other) -> Tensor");
  m.def("gt.Tensor(Tensor self, Tensor other) -> Tensor");
  m.def("gt.Scalar(Tensor self, Scalar other) -> Tensor");
  m.def("ge.Tensor(Tensor self, Tensor other) -> Tensor");
  m.def("ge.Scalar(Tensor self, Scalar other) -> Tensor");
}

OPYARD_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("eq.Tensor", &eq_tensor);
  m.impl("eq.Scalar", &eq_scalar);
  m.impl("ne.Tensor", &ne_tensor);
  m.impl("ne.Scalar", &ne_scalar);
  m.impl("lt.Tensor", &lt_tensor);
  m.impl("lt.Scalar", &lt_scalar);
  m.impl("le.Tensor", &le_tensor);
  m.impl("le.Scalar", &le_scalar);
  m.impl("gt.Tensor", &gt_tensor);
  m.impl("gt.Scalar", &gt_scalar);
  m.impl("ge.Tensor", &ge_tensor);
  m.impl("ge.Scalar", &ge_scalar);
}

}  // namespace opyard::kernels
