// kernels/pointwise/comparison.cpp: eq, ne, lt, le, gt, ge with a tensor or a number. Results are
// bool.
//
// Inputs are promoted first: int64[n] == 1.5 compares as float32.
#include <opyard/library.h>

#include "common/block_functions.h"
#include "common/builds.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "pointwise/elementwise.h"

namespace opyard::kernels {
namespace {

template <typename Other>
Tensor comparison(const char* op, const Loops& loops, const Tensor& self, const Other& other) {
  if constexpr (std::is_same_v<Other, Tensor>) {
    if (Tensor result = of_alike(loops, self, other, DType::Bool); result.defined()) return result;
  } else if (self.defined()) {
    if (Tensor result = of_number(op, loops, self, other, DType::Bool); result.defined()) {
      return result;
    }
  }
  const Elementwise call(op, self, other);
  const DType dtype = call.common();
  return call.run({.loop = call.choose_for_all(loops, dtype),
                   .computed = dtype,
                   .result = DType::Bool,
                   .in_order = true});
}

Tensor eq_tensor(const Tensor& self, const Tensor& other) {
  return comparison("aten::eq.Tensor", loops().comparison.equal, self, other);
}
Tensor eq_scalar(const Tensor& self, const Scalar& other) {
  return comparison("aten::eq.Scalar", loops().comparison.equal, self, other);
}
Tensor ne_tensor(const Tensor& self, const Tensor& other) {
  return comparison("aten::ne.Tensor", loops().comparison.unequal, self, other);
}
Tensor ne_scalar(const Tensor& self, const Scalar& other) {
  return comparison("aten::ne.Scalar", loops().comparison.unequal, self, other);
}
Tensor lt_tensor(const Tensor& self, const Tensor& other) {
  return comparison("aten::lt.Tensor", loops().comparison.less, self, other);
}
Tensor lt_scalar(const Tensor& self, const Scalar& other) {
  return comparison("aten::lt.Scalar", loops().comparison.less, self, other);
}
Tensor le_tensor(const Tensor& self, const Tensor& other) {
  return comparison("aten::le.Tensor", loops().comparison.less_or_equal, self, other);
}
Tensor le_scalar(const Tensor& self, const Scalar& other) {
  return comparison("aten::le.Scalar", loops().comparison.less_or_equal, self, other);
}
Tensor gt_tensor(const Tensor& self, const Tensor& other) {
  return comparison("aten::gt.Tensor", loops().comparison.greater, self, other);
}
Tensor gt_scalar(const Tensor& self, const Scalar& other) {
  return comparison("aten::gt.Scalar", loops().comparison.greater, self, other);
}
Tensor ge_tensor(const Tensor& self, const Tensor& other) {
  return comparison("aten::ge.Tensor", loops().comparison.greater_or_equal, self, other);
}
Tensor ge_scalar(const Tensor& self, const Scalar& other) {
  return comparison("aten::ge.Scalar", loops().comparison.greater_or_equal, self, other);
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
  define_in_place(m,
                  {"eq.Tensor", "eq.Scalar", "ne.Tensor", "ne.Scalar", "lt.Tensor", "lt.Scalar",
                   "le.Tensor", "le.Scalar", "gt.Tensor", "gt.Scalar", "ge.Tensor", "ge.Scalar"},
                  Form::WithFormula);
}

OPYARD_KERNELS(m) {
  name_build(m);
  constexpr Fusible kCompared{.kind = jit::BlockKind::Compared};
  const ComparisonLoops& of = loops().comparison;
  fusible("aten::eq", "Tensor", &eq_tensor, of.equal, kCompared);
  fusible("aten::eq", "Scalar", &eq_scalar, of.equal, kCompared);
  fusible("aten::ne", "Tensor", &ne_tensor, of.unequal, kCompared);
  fusible("aten::ne", "Scalar", &ne_scalar, of.unequal, kCompared);
  fusible("aten::lt", "Tensor", &lt_tensor, of.less, kCompared);
  fusible("aten::lt", "Scalar", &lt_scalar, of.less, kCompared);
  fusible("aten::le", "Tensor", &le_tensor, of.less_or_equal, kCompared);
  fusible("aten::le", "Scalar", &le_scalar, of.less_or_equal, kCompared);
  fusible("aten::gt", "Tensor", &gt_tensor, of.greater, kCompared);
  fusible("aten::gt", "Scalar", &gt_scalar, of.greater, kCompared);
  fusible("aten::ge", "Tensor", &ge_tensor, of.greater_or_equal, kCompared);
  fusible("aten::ge", "Scalar", &ge_scalar, of.greater_or_equal, kCompared);
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
