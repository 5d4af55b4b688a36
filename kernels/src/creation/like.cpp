// kernels/creation/like.cpp: empty_like, zeros_like, ones_like, full_like.
//
// They ask the factory of the same name for a tensor with self's sizes and, if nothing else
// is said, self's dtype and device; so they serve every backend that has the factories. One that is
// not row-major keeps the order of dimensions (order.h [Copies]), and is filled after it was made.
#include <opyard/library.h>

#include <array>

#include "common/check.h"
#include "common/options.h"
#include "common/order.h"

namespace opyard::kernels {
namespace {

using Filled = Tensor(IntSpan, MaybeDType, MaybeLayout, MaybeDevice, MaybeBool);

Tensor strided_like(const Tensor& self, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                    MaybeBool pin_memory) {
  static constinit FoundOperator<Tensor(IntSpan, IntSpan, MaybeDType, MaybeLayout, MaybeDevice,
                                        MaybeBool)>
      op("aten::empty_strided");
  const std::array<const Tensor*, 1> inputs = {&self};
  return op.call(self.sizes(), ordered_strides(self.sizes(), inputs), dtype.value_or(self.dtype()),
                 layout, device.value_or(self.device()), pin_memory);
}
Tensor filled_like(const Tensor& self, const Scalar& value, MaybeDType dtype, MaybeLayout layout,
                   MaybeDevice device, MaybeBool pin_memory) {
  static constinit FoundOperator<Tensor&(Tensor&, const Scalar&)> fill("aten::fill_.Scalar");
  Tensor made = strided_like(self, dtype, layout, device, pin_memory);
  return fill.call(made, value);
}

Tensor empty_like(const Tensor& self, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                  MaybeBool pin_memory, MaybeFormat memory_format) {
  static constinit FoundOperator<Tensor(IntSpan, MaybeDType, MaybeLayout, MaybeDevice, MaybeBool,
                                        MaybeFormat)>
      op("aten::empty.memory_format");
  require_defined("aten::empty_like", "self", self);
  require_row_major("aten::empty_like", memory_format);
  if (!is_row_major_in(self, memory_format)) {
    return strided_like(self, dtype, layout, device, pin_memory);
  }
  return op.call(self.sizes(), dtype.value_or(self.dtype()), layout, device.value_or(self.device()),
                 pin_memory, std::nullopt);
}

Tensor zeros_like(const Tensor& self, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                  MaybeBool pin_memory, MaybeFormat memory_format) {
  static constinit FoundOperator<Filled> op("aten::zeros");
  require_defined("aten::zeros_like", "self", self);
  require_row_major("aten::zeros_like", memory_format);
  if (!is_row_major_in(self, memory_format)) {
    return filled_like(self, 0, dtype, layout, device, pin_memory);
  }
  return op.call(self.sizes(), dtype.value_or(self.dtype()), layout, device.value_or(self.device()),
                 pin_memory);
}

Tensor ones_like(const Tensor& self, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                 MaybeBool pin_memory, MaybeFormat memory_format) {
  static constinit FoundOperator<Filled> op("aten::ones");
  require_defined("aten::ones_like", "self", self);
  require_row_major("aten::ones_like", memory_format);
  if (!is_row_major_in(self, memory_format)) {
    return filled_like(self, 1, dtype, layout, device, pin_memory);
  }
  return op.call(self.sizes(), dtype.value_or(self.dtype()), layout, device.value_or(self.device()),
                 pin_memory);
}

Tensor full_like(const Tensor& self, const Scalar& fill_value, MaybeDType dtype, MaybeLayout layout,
                 MaybeDevice device, MaybeBool pin_memory, MaybeFormat memory_format) {
  static constinit FoundOperator<Tensor(IntSpan, const Scalar&, MaybeDType, MaybeLayout,
                                        MaybeDevice, MaybeBool)>
      op("aten::full");
  require_defined("aten::full_like", "self", self);
  require_row_major("aten::full_like", memory_format);
  if (!is_row_major_in(self, memory_format)) {
    return filled_like(self, fill_value, dtype, layout, device, pin_memory);
  }
  return op.call(self.sizes(), fill_value, dtype.value_or(self.dtype()), layout,
                 device.value_or(self.device()), pin_memory);
}

}  // namespace

#define OPYARD_OPTIONS                                                                        \
  "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, " \
  "MemoryFormat? memory_format=None) -> Tensor"

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("empty_like(Tensor self, *, " OPYARD_OPTIONS);
  m.def("zeros_like(Tensor self, *, " OPYARD_OPTIONS);
  m.def("ones_like(Tensor self, *, " OPYARD_OPTIONS);
  m.def("full_like(Tensor self, Scalar fill_value, *, " OPYARD_OPTIONS);
}
#undef OPYARD_OPTIONS

OPYARD_LIBRARY_IMPL(aten, CompositeExplicitAutograd, m) {
  m.impl("empty_like", &empty_like);
  m.impl("zeros_like", &zeros_like);
  m.impl("ones_like", &ones_like);
  m.impl("full_like", &full_like);
}

}  // namespace opyard::kernels
