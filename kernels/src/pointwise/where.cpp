// kernels/pointwise/where.cpp: where and masked_fill: choosing between two sources by a bool
// tensor.
#include <opyard/library.h>

#include "common/block_functions.h"
#include "common/broadcast.h"
#include "common/builds.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "common/ops.h"
#include "pointwise/elementwise.h"

namespace opyard::kernels {
namespace {

Tensor where_self(const Tensor& condition, const Tensor& self, const Tensor& other) {
  Elementwise call("aten::where.self");
  call.mask("condition", condition);
  call.input("self", self);
  call.input("other", other);
  const DType dtype = call.common();
  return call.run({call.choose_for_all(loops().selection.where, dtype), dtype, dtype});
}

// On any backend. Raises BadArgument.
void require_condition(const char* op, const char* argument, const Tensor& condition) {
  require_defined(op, argument, condition);
  if (condition.dtype() == DType::Bool) return;
  refuse(ErrorKind::BadArgument,
         {op, ": ", argument, " is ", condition, "; its dtype must be ", DType::Bool});
}

// A number as a tensor without dimensions, of the dtype that it meets the other operand in.
template <typename Other>
Tensor tensor_of(const Scalar& number, const Other& beside, const Tensor& condition) {
  Promotion promotion;
  promotion.add(number);
  promotion.add(beside);
  return ops::full(condition, {}, number, promotion.result());
}
Tensor where_other_number(const Tensor& condition, const Tensor& self, const Scalar& other) {
  constexpr const char* kOp = "aten::where.ScalarOther";
  require_condition(kOp, "condition", condition);
  require_defined(kOp, "self", self);
  require_broadcast(kOp, {{"condition", condition}, {"self", self}});
  return ops::where(condition, self, tensor_of(other, self, condition));
}
Tensor where_self_number(const Tensor& condition, const Scalar& self, const Tensor& other) {
  constexpr const char* kOp = "aten::where.ScalarSelf";
  require_condition(kOp, "condition", condition);
  require_defined(kOp, "other", other);
  require_broadcast(kOp, {{"condition", condition}, {"other", other}});
  return ops::where(condition, tensor_of(self, other, condition), other);
}
Tensor where_numbers(const Tensor& condition, const Scalar& self, const Scalar& other) {
  require_condition("aten::where.Scalar", "condition", condition);
  return ops::where(condition, tensor_of(self, other, condition),
                    tensor_of(other, self, condition));
}

// The value is converted to self's dtype, and never changes it.
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  Elementwise call("aten::masked_fill.Scalar");
  call.mask("mask", mask);
  call.constant("value", value);
  call.input("self", self);
  return call.run(
      {call.choose_for_all(loops().selection.where, self.dtype()), self.dtype(), self.dtype()});
}

// The same with the only element of a tensor, which has a gradient.
Tensor masked_fill_by_tensor(const Tensor& self, const Tensor& mask, const Tensor& value) {
  constexpr const char* kOp = "aten::masked_fill.Tensor";
  require_defined(kOp, "self", self);
  require_defined(kOp, "value", value);
  if (value.dim() != 0 || !can_store(value.dtype(), self.dtype())) {
    refuse(ErrorKind::BadArgument,
           {kOp, ": value is ", value, " and self is ", self,
            "; accepted is a tensor without dimensions, whose dtype has no higher category"});
  }
  require_condition(kOp, "mask", mask);
  require_broadcast(kOp, {{"mask", mask}, {"self", self}});
  return ops::where(mask, ops::to(value, self.dtype()), self);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("where.self(Tensor condition, Tensor self, Tensor other) -> Tensor");
  m.def("where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
        &where_other_number);
  m.def("where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
        &where_self_number);
  m.def("where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", &where_numbers);
  m.def("masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor");
  define_in_place(m, "masked_fill.Scalar", Form::WithFormula);
  m.def("masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
        &masked_fill_by_tensor);
  define_in_place(m, "masked_fill.Tensor");
}

OPYARD_KERNELS(m) {
  name_build(m);
  const Loops& chosen = loops().selection.where;
  fusible("aten::where", "self", &where_self, chosen, {.kind = jit::BlockKind::Selected});
  fusible("aten::masked_fill", "Scalar", &masked_fill, chosen,
          {.kind = jit::BlockKind::Selected, .order = {1, 2, 0}});
  m.impl("where.self", &where_self);
  m.impl("masked_fill.Scalar", &masked_fill);
}

}  // namespace opyard::kernels
