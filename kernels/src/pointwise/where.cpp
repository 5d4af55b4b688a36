// kernels/pointwise/where.cpp: where and masked_fill: choosing between two sources by a bool
// tensor.
#include <opyard/library.h>

#include "common/block_functions.h"
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
  return call.run({call.choose(loops().selection.where, dtype), dtype, dtype});
}

// The value is converted to self's dtype, and never changes it.
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  Elementwise call("aten::masked_fill.Scalar");
  call.mask("mask", mask);
  call.constant("value", value);
  call.input("self", self);
  return call.run({call.choose(loops().selection.where, self.dtype()), self.dtype(), self.dtype()});
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
  return ops::where(mask, ops::to(value, self.dtype()), self);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("where.self(Tensor condition, Tensor self, Tensor other) -> Tensor");
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
