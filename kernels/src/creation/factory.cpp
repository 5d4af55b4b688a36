// kernels/creation/factory.cpp: tensors from nothing: empty, zeros, ones, full, arange, eye.
//
// [Choosing a backend] A factory has no tensor among its arguments whose keys could say where it
// runs, but every thread includes the key BackendSelect. The kernel registered there reads the
// argument `device` by the operator's schema and calls on with that backend's key, so that a
// plugin for another device only has to register its own factories at its own key.
//
// Without dtype: float32; for full and arange the dtype of the numbers (an int in all of them
// gives int64). Results are row-major.
#include <opyard/library.h>

#include <cmath>

#include "common/copy.h"
#include "common/dtypes.h"
#include "common/options.h"

namespace opyard::kernels {
namespace {

void select_backend(const Operator& op, DispatchKeySet, Stack& stack) {
  const Schema& schema = op.schema();
  const std::optional<std::size_t> at = schema.find_argument("device");
  OPYARD_ASSERT(at.has_value());
  const Value& device = stack.top(schema.arguments.size())[*at];
  const Backend backend = device.is_none() ? Backend::CPU : device.to_device().backend;
  op.redispatch_boxed(DispatchKeySet(instance_of(DispatchKey::Dense, backend)), stack);
}

Tensor new_tensor(const char* op, IntSpan size, DType dtype, MaybeLayout layout, MaybeDevice device,
                  MaybeBool pin_memory) {
  require_sizes_of(op, "size", size, dtype);
  require_plain(op, layout, pin_memory);
  return Tensor::empty(size, dtype, device.value_or(Device{}));
}

Tensor filled(const char* op, IntSpan size, const Scalar& value, DType dtype, MaybeLayout layout,
              MaybeDevice device, MaybeBool pin_memory) {
  const Number number = number_in(op, "fill_value", value, dtype);
  Tensor result = new_tensor(op, size, dtype, layout, device, pin_memory);
  fill_elements(result, number);
  return result;
}

Tensor empty(IntSpan size, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
             MaybeBool pin_memory, MaybeFormat memory_format) {
  require_row_major("aten::empty.memory_format", memory_format);
  return new_tensor("aten::empty.memory_format", size, dtype.value_or(kDefaultFloat), layout,
                    device, pin_memory);
}

Tensor empty_strided(IntSpan size, IntSpan stride, MaybeDType dtype, MaybeLayout layout,
                     MaybeDevice device, MaybeBool pin_memory) {
  constexpr const char* kOp = "aten::empty_strided";
  require_plain(kOp, layout, pin_memory);
  return Tensor::empty(std::array{room_of(kOp, size, stride)}, dtype.value_or(kDefaultFloat),
                       device.value_or(Device{}))
      .as_strided(size, stride, 0);
}

Tensor zeros_kernel(IntSpan size, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                    MaybeBool pin_memory) {
  return filled("aten::zeros", size, false, dtype.value_or(kDefaultFloat), layout, device,
                pin_memory);
}

Tensor ones(IntSpan size, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
            MaybeBool pin_memory) {
  return filled("aten::ones", size, true, dtype.value_or(kDefaultFloat), layout, device,
                pin_memory);
}

Tensor full_kernel(IntSpan size, const Scalar& fill_value, MaybeDType dtype, MaybeLayout layout,
                   MaybeDevice device, MaybeBool pin_memory) {
  return filled("aten::full", size, fill_value, dtype.value_or(dtype_for(fill_value)), layout,
                device, pin_memory);
}

Tensor eye_m(std::int64_t n, std::int64_t m, MaybeDType dtype, MaybeLayout layout,
             MaybeDevice device, MaybeBool pin_memory) {
  const std::array<std::int64_t, 2> size = {n, m};
  const DType chosen = dtype.value_or(kDefaultFloat);
  Tensor result = filled("aten::eye", size, false, chosen, layout, device, pin_memory);
  const std::array<std::int64_t, 1> diagonal = {std::min(n, m)};
  if (diagonal[0] > 0) {
    const std::array<std::int64_t, 1> step = {m + 1};
    fill_elements(result.as_strided(diagonal, step, 0), number_in("aten::eye", "1", true, chosen));
  }
  return result;
}

Tensor eye(std::int64_t n, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
           MaybeBool pin_memory) {
  return eye_m(n, n, dtype, layout, device, pin_memory);
}

}  // namespace

#define OPYARD_OPTIONS \
  "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("empty.memory_format(SymInt[] size, *, " OPYARD_OPTIONS
        ", MemoryFormat? memory_format=None) -> Tensor");
  m.def("empty_strided(SymInt[] size, SymInt[] stride, *, " OPYARD_OPTIONS ") -> Tensor");
  m.def("zeros(SymInt[] size, *, " OPYARD_OPTIONS ") -> Tensor");
  m.def("ones(SymInt[] size, *, " OPYARD_OPTIONS ") -> Tensor");
  m.def("full(SymInt[] size, Scalar fill_value, *, " OPYARD_OPTIONS ") -> Tensor");
  m.def("eye(SymInt n, *, " OPYARD_OPTIONS ") -> Tensor");
  m.def("eye.m(SymInt n, SymInt m, *, " OPYARD_OPTIONS ") -> Tensor");
  m.def("arange(Scalar end, *, " OPYARD_OPTIONS ") -> Tensor");
  m.def("arange.start(Scalar start, Scalar end, *, " OPYARD_OPTIONS ") -> Tensor");
  m.def("arange.start_step(Scalar start, Scalar end, Scalar step=1, *, " OPYARD_OPTIONS
        ") -> Tensor");
  for (const char* name : {"empty.memory_format", "empty_strided", "zeros", "ones", "full", "eye",
                           "eye.m", "arange", "arange.start", "arange.start_step"}) {
    m.impl(name, DispatchKey::BackendSelect, &select_backend);
  }
}
#undef OPYARD_OPTIONS

OPYARD_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("zeros", &zeros_kernel);
  m.impl("ones", &ones);
  m.impl("full", &full_kernel);
  m.impl("eye", &eye);
  m.impl("eye.m", &eye_m);
}

}  // namespace opyard::kernels
