// tensor/dlpack_view.h: DLTensors that are borrowed for a call, both ways.
//
// Depends on: tensor/dlpack.h.
#pragma once

#include <array>

#include "opyard/tensor/dlpack.h"

namespace opyard {

// What a callee may look at while `tensor` lives and is not changed. Shape and strides are in the
// tensor: no one may write to them. The tensor is defined. Raises what dlpack_device_of() raises,
// and BadValue for symbolic sizes.
//
// Written where it belongs, field by field: a struct that is made elsewhere and copied costs 15 ns,
// since its narrow fields would be loaded again before they are stored (bench row
// c_function_tensors).
[[gnu::always_inline]] inline void view_as_dlpack(const Tensor& tensor, dlpack::DLTensor& view) {
  static constexpr auto kTypes = [] {
    std::array<dlpack::DLDataType, kDTypeCodes> types{};
#define OPYARD_DTYPE(code, name, python, type, dlpack, bits, ...) types[code] = {dlpack, bits, 1};
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
    return types;
  }();
  // Whatever its class says, what is in memory is what the tensor was made with.
  const TensorImpl& impl = *tensor.impl();
  if (impl.has_policy(TensorImpl::kSymbolic)) refuse_symbolic("sizes");
  view.data = impl.data();
  view.device = {dlpack::kCPU, 0};
  if (__builtin_expect(!impl.own_device().is_cpu(), 0)) view.device = dlpack_device_of(tensor);
  view.ndim = std::int32_t(impl.own_sizes().size());
  view.dtype = kTypes[std::size_t(impl.dtype())];
  view.shape = const_cast<std::int64_t*>(impl.own_sizes().data());
  view.strides = const_cast<std::int64_t*>(impl.own_strides().data());
  view.byte_offset = 0;
}

// A tensor on memory that is borrowed from its caller, who has to outlive it. Raises what
// from_dlpack() raises.
Tensor borrow_dlpack(const dlpack::DLTensor& array, bool read_only);

}  // namespace opyard
