// kernels/pointwise/where.cpp: where and masked_fill: choosing between two sources by a bool tensor.
#include <opyard/library.h>

#include "pointwise/elementwise.h"

namespace opyard::kernels {
namespace {

template <typename T>
void where_loop(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                const void*) {
  std::byte* to = data[0];
  const std::byte *mask = data[1], *yes = data[2], *no = data[3];
  for (std::int64_t i = 0; i < count; ++i) {
    const T a = *reinterpret_cast<const T*>(yes), b = *reinterpret_cast<const T*>(no);
    *reinterpret_cast<T*>(to) = *reinterpret_cast<const bool*>(mask) ? a : b;
    to += steps[0];
    mask += steps[1];
    yes += steps[2];
    no += steps[3];
  }
}
constexpr Loops kWhere = {
    {&where_loop<bool>, &where_loop<std::int64_t>, &where_loop<float>, &where_loop<double>}};

Tensor where_self(const Tensor& condition, const Tensor& self, const Tensor& other) {
  Elementwise call("aten::where.self");
  call.mask("condition", condition);
  call.input("self", self);
  call.input("other", other);
  const DType dtype = call.common();
  return call.run({call.choose(kWhere, dtype), dtype, dtype});
}

// The value is converted to self's dtype, and never changes it.
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  Elementwise call("aten::masked_fill.Scalar");
  call.mask("mask", mask);
  call.constant("value", value);
  call.input("self", self);
  return call.run({call.choose(kWhere, self.dtype()), self.dtype(), self.dtype()});
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("where.self(Tensor condition, Tensor self, Tensor other) -> Tensor");
  m.def("masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor");
}

OPYARD_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("where.self", &where_self);
  m.impl("masked_fill.Scalar", &masked_fill);
}

}  // namespace opyard::kernels
