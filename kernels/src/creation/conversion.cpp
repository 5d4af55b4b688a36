// kernels/creation/conversion.cpp: to in its forms, _to_copy, clone, contiguous, copy_.
//
// Which strides a copy has is told in order.h [Copies], how numbers convert in copy.cpp
// [Conversion].
#include <opyard/inspect/inspect.h>
#include <opyard/library.h>

#include "common/block_functions.h"
#include "common/broadcast.h"
#include "common/copy.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "common/order.h"
#include "common/symbolic_results.h"
#include "common/walk.h"
#include "common/write.h"

namespace opyard::kernels {
namespace {

// A copy to a device is made by the kernel of its backend, if that has one.
bool is_copied_by(Device device) {
  if (device.is_cpu()) return false;
  const DispatchKey key = instance_of(DispatchKey::Dense, device.backend);
  return inspect::has_computed_kernel({"aten::_to_copy", ""}, key);
}

Tensor copy_to_device(const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
                      Device device, std::optional<bool> pin_memory, bool non_blocking,
                      std::optional<MemoryFormat> memory_format) {
  InlineStack<8> stack;
  stack.push(self);
  stack.push(Value::of(dtype));
  stack.push(Value::of(layout));
  stack.push(device);
  stack.push(Value::of(pin_memory));
  stack.push(non_blocking);
  stack.push(Value::of(memory_format));
  require_operator("aten::_to_copy")
      .redispatch_boxed(DispatchKeySet(instance_of(DispatchKey::Dense, device.backend)), stack);
  return stack.pop().take_tensor();
}

Tensor to_copy(const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
               std::optional<Device> device, std::optional<bool> pin_memory, bool non_blocking,
               std::optional<MemoryFormat> memory_format) {
  constexpr const char* kOp = "aten::_to_copy";
  if (device && device->backend == Backend::Meta) {
    require_defined(kOp, "self", self);
    return empty_in_format(self, memory_format, dtype.value_or(self.dtype()), *device);
  }
  require_cpu(kOp, "self", self);
  require_plain(kOp, layout, pin_memory);
  require_row_major(kOp, memory_format);
  if (device && is_copied_by(*device)) {
    return copy_to_device(self, dtype, layout, *device, pin_memory, non_blocking, memory_format);
  }
  if (device && !device->is_cpu()) {
    refuse(ErrorKind::Unsupported,
           {kOp, ": device is ", to_string(*device), "; this library copies from cpu to cpu only"});
  }
  Tensor copy = empty_in_format(self, memory_format, dtype.value_or(self.dtype()), {});
  copy_elements(kOp, copy, self);
  return copy;
}

Tensor to_dtype(const Tensor& self, DType dtype, bool non_blocking, bool copy,
                std::optional<MemoryFormat> memory_format) {
  require_defined("aten::to.dtype", "self", self);
  const bool row_major =
      !memory_format || *memory_format != MemoryFormat::Contiguous || self.is_contiguous();
  if (!copy && self.dtype() == dtype && row_major) return self;
  static constinit FoundOperator<Tensor(const Tensor&, std::optional<DType>, std::optional<Layout>,
                                        std::optional<Device>, std::optional<bool>, bool,
                                        std::optional<MemoryFormat>)>
      op("aten::_to_copy");
  return op.call(self, dtype, std::nullopt, std::nullopt, std::nullopt, non_blocking,
                 memory_format);
}

// Without elements there is nothing to copy but sizes.
Tensor to_copy_on_meta(const Tensor& self, std::optional<DType> dtype, std::optional<Layout>,
                       std::optional<Device> device, std::optional<bool>, bool,
                       std::optional<MemoryFormat> memory_format) {
  OPYARD_REQUIRE(!device || device->backend == Backend::Meta, Unsupported,
                 "aten::_to_copy: self is ", self, " on meta, which has no elements to copy to ",
                 *device, "; make the tensor there");
  return empty_in_format(self, memory_format, dtype.value_or(self.dtype()), self.device());
}

Tensor to_device(const Tensor& self, std::optional<Device> device, std::optional<DType> dtype,
                 bool non_blocking, bool copy, std::optional<MemoryFormat> memory_format) {
  require_defined("aten::to", "self", self);
  const Device there = device.value_or(self.device());
  const DType wanted = dtype.value_or(self.dtype());
  if (there == self.device()) return to_dtype(self, wanted, non_blocking, copy, memory_format);
  static constinit FoundOperator<Tensor(const Tensor&, std::optional<DType>, std::optional<Layout>,
                                        std::optional<Device>, std::optional<bool>, bool,
                                        std::optional<MemoryFormat>)>
      op("aten::_to_copy");
  return op.call(self, wanted, std::nullopt, there, std::nullopt, non_blocking, memory_format);
}

Tensor to_device_and_dtype(const Tensor& self, Device device, DType dtype, bool non_blocking,
                           bool copy, std::optional<MemoryFormat> memory_format) {
  return to_device(self, device, dtype, non_blocking, copy, memory_format);
}

Tensor to_options(const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
                  std::optional<Device> device, std::optional<bool> pin_memory, bool non_blocking,
                  bool copy, std::optional<MemoryFormat> memory_format) {
  require_plain("aten::to.dtype_layout", layout, pin_memory);
  return to_device(self, device, dtype, non_blocking, copy, memory_format);
}

Tensor to_prim_device(const Tensor& self, std::optional<Device> device,
                      std::optional<std::int64_t> dtype, bool non_blocking, bool copy) {
  const auto wanted = dtype ? std::optional(opyard::require_dtype(*dtype)) : std::nullopt;
  return to_device(self, device, wanted, non_blocking, copy, std::nullopt);
}

Tensor clone_kernel(const Tensor& self, std::optional<MemoryFormat> memory_format) {
  constexpr const char* kOp = "aten::clone";
  require_cpu(kOp, "self", self);
  require_row_major(kOp, memory_format);
  const Device device = is_meta(self) ? self.device() : Device{};
  Tensor copy = empty_in_format(self, memory_format, self.dtype(), device);
  copy_elements(kOp, copy, self);
  return copy;
}

Tensor contiguous_kernel(const Tensor& self, MemoryFormat memory_format) {
  require_defined("aten::contiguous", "self", self);
  require_row_major("aten::contiguous", memory_format);
  if (!has_symbolic_sizes(self) && self.is_contiguous()) return self;
  static constinit FoundOperator<Tensor(const Tensor&, std::optional<MemoryFormat>)> op(
      "aten::clone");
  return op.call(self, MemoryFormat::Contiguous);
}

Tensor& copy_in_place(Tensor& self, const Tensor& src, bool /*non_blocking*/) {
  constexpr const char* kOp = "aten::copy_";
  require_writable(kOp, "self", self);
  require_cpu(kOp, "src", src);
  if (has_symbolic_sizes(self) || has_symbolic_sizes(src)) {
    OPYARD_REQUIRE(is_meta(self), Unsupported, kOp, ": src is ", src,
                   " on meta, which has no elements to copy; copy from a tensor that has some");
    require_expandable(kOp, {"src", src}, {"self", self});
    self.count_write();
    return self;
  }
  require_expandable(kOp, {"src", src}, {"self", self});
  if (is_meta(src) && !is_meta(self)) {
    refuse(ErrorKind::Unsupported,
           {kOp, ": src is ", src, " on meta, which has no elements to copy, and self is ", self,
            "; copy from a tensor that has some"});
  }
  if (is_meta(self)) {
    self.count_write();
    return self;
  }
  const Tensor source =
      self.dtype() == src.dtype() ? apart_from(kOp, src, self) : converted(kOp, src, self.dtype());
  self.count_write();
  copy_elements(kOp, self, source);
  return self;
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def(
      "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
      "Device? device=None, bool? pin_memory=None, bool non_blocking=False, "
      "MemoryFormat? memory_format=None) -> Tensor");
  m.def(
      "to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
      "MemoryFormat? memory_format=None) -> Tensor(a)",
      &to_dtype);
  m.def(
      "to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, "
      "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
      &to_device_and_dtype);
  m.def(
      "to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool non_blocking=False, "
      "bool copy=False) -> Tensor(a)",
      &to_prim_device);
  define(m,
         "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
         "device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, "
         "MemoryFormat? memory_format=None) -> Tensor(a)",
         Tagged::Overlapping);
  m.impl("to.dtype_layout", &to_options);
  m.def("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor");
  m.def("contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
        &contiguous_kernel);
  m.def("copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)");
}

OPYARD_LIBRARY_IMPL(aten, CPU, m) {
  fusible_conversion("aten::_to_copy", "", &to_copy);
  m.impl("_to_copy", &to_copy);
}
OPYARD_LIBRARY_IMPL(aten, Meta, m) { m.impl("_to_copy", &to_copy_on_meta); }
OPYARD_KERNELS(m) {
  m.impl("clone", &clone_kernel);
  m.impl("copy_", &copy_in_place);
}

}  // namespace opyard::kernels
