// kernels/pointwise/logical.cpp: logical_not, _and, _or, _xor for every computed dtype (not zero is
// true, NaN included; results are bool), and bitwise_not, _and, _or, _xor for bool and int64.
#include <opyard/library.h>

#include "common/block_functions.h"
#include "common/builds.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "pointwise/elementwise.h"

namespace opyard::kernels {
namespace {

Tensor logical(const char* op, const Loops& loops, const Tensor& self, const Tensor& other) {
  const Elementwise call(op, self, other);
  const DType dtype = call.common();
  return call.run({call.choose_for_all(loops, dtype), dtype, DType::Bool});
}
template <typename Other>
Tensor bitwise(const char* op, const Loops& loops, const Tensor& self, const Other& other) {
  const Elementwise call(op, self, other);
  const DType dtype = call.common();
  return call.run({call.choose_for_all(loops, dtype), dtype, dtype});
}

Tensor logical_not(const Tensor& self) {
  const Elementwise call("aten::logical_not", self);
  return call.run(
      {call.choose_for_all(loops().logical.logical_not, self.dtype()), self.dtype(), DType::Bool});
}
Tensor logical_and(const Tensor& self, const Tensor& other) {
  return logical("aten::logical_and", loops().logical.logical_and, self, other);
}
Tensor logical_or(const Tensor& self, const Tensor& other) {
  return logical("aten::logical_or", loops().logical.logical_or, self, other);
}
Tensor logical_xor(const Tensor& self, const Tensor& other) {
  return logical("aten::logical_xor", loops().logical.logical_xor, self, other);
}
Tensor bitwise_not(const Tensor& self) {
  const Elementwise call("aten::bitwise_not", self);
  return call.run(
      {call.choose_for_all(loops().logical.bitwise_not, self.dtype()), self.dtype(), self.dtype()});
}
Tensor bitwise_and(const Tensor& self, const Tensor& other) {
  return bitwise("aten::bitwise_and.Tensor", loops().logical.bitwise_and, self, other);
}
Tensor bitwise_or(const Tensor& self, const Tensor& other) {
  return bitwise("aten::bitwise_or.Tensor", loops().logical.bitwise_or, self, other);
}
Tensor bitwise_xor(const Tensor& self, const Tensor& other) {
  return bitwise("aten::bitwise_xor.Tensor", loops().logical.bitwise_xor, self, other);
}
Tensor bitwise_and_scalar(const Tensor& self, const Scalar& other) {
  return bitwise("aten::bitwise_and.Scalar", loops().logical.bitwise_and, self, other);
}
Tensor bitwise_or_scalar(const Tensor& self, const Scalar& other) {
  return bitwise("aten::bitwise_or.Scalar", loops().logical.bitwise_or, self, other);
}
Tensor bitwise_xor_scalar(const Tensor& self, const Scalar& other) {
  return bitwise("aten::bitwise_xor.Scalar", loops().logical.bitwise_xor, self, other);
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
  define_in_place(m,
                  {"logical_not", "logical_and", "logical_or", "logical_xor", "bitwise_not",
                   "bitwise_and.Tensor", "bitwise_and.Scalar", "bitwise_or.Tensor",
                   "bitwise_or.Scalar", "bitwise_xor.Tensor", "bitwise_xor.Scalar"},
                  Form::WithFormula);
}

OPYARD_KERNELS(m) {
  name_build(m);
  constexpr Fusible kCompared{.kind = jit::BlockKind::Compared};
  const LogicalLoops& of = loops().logical;
  fusible("aten::logical_not", "", &logical_not, of.logical_not, kCompared);
  fusible("aten::logical_and", "", &logical_and, of.logical_and, kCompared);
  fusible("aten::logical_or", "", &logical_or, of.logical_or, kCompared);
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
