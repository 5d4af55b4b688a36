// value/sym_tensor.cpp: symbolic geometry: the tensor's own, or its class's.
#include "opyard/value/sym_tensor.h"

#include <fmt/format.h>

#include <array>

namespace opyard {
namespace {

const TensorImpl& require_defined(const Tensor& tensor) {
  static_cast<void>(tensor.dtype());  // refuses the undefined tensor
  return *tensor.impl();
}

const CachedGeometry* find_symbolic(const TensorImpl& tensor) {
  if (!tensor.has_policy(TensorImpl::kSymbolic)) return nullptr;
  return static_cast<const CachedGeometry*>(tensor.cached_geometry().get());
}

}  // namespace

Tensor empty_symbolic(std::vector<SymInt> sizes, DType dtype, Device device) {
  DimVector numbers;
  for (const SymInt& size : sizes) {
    if (!size.is_symbolic()) numbers.push_back(size.expect_int());
  }
  if (numbers.size() == sizes.size()) return Tensor::empty(numbers, dtype, device);
  static_cast<void>(Tensor::empty(numbers, dtype, device));  // refuses what no tensor has
  std::vector<SymInt> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) {
    const bool is_none_or_one = !sizes[i].is_symbolic() && sizes[i].expect_int() < 2;
    strides[i - 1] = is_none_or_one ? strides[i] : strides[i] * sizes[i];
  }
  // Memory for one element, which a view without dimensions has.
  const DimVector none(sizes.size(), 0);
  Tensor made = Tensor::empty(std::array{std::int64_t{1}}, dtype, device).as_strided(none, none, 0);
  make_symbolic(made, std::move(sizes), std::move(strides), 0);
  return made;
}

CachedGeometry::~CachedGeometry() = default;

CachedGeometry& CachedGeometry::of(const TensorImpl& tensor) {
  if (!tensor.cached_geometry()) tensor.cache_geometry(make_counted<CachedGeometry>());
  return static_cast<CachedGeometry&>(*tensor.cached_geometry());
}

void make_symbolic(const Tensor& tensor, std::vector<SymInt> sizes, std::vector<SymInt> strides,
                   SymInt storage_offset) {
  TensorImpl& impl = *tensor.impl();
  const std::size_t dimensions = impl.own_sizes().size();
  if (sizes.size() != dimensions || strides.size() != dimensions) {
    fail(ErrorKind::BadShape,
         fmt::format("{} symbolic sizes and {} strides were given for a tensor of {} dimensions",
                     sizes.size(), strides.size(), dimensions));
  }
  CachedGeometry& geometry = CachedGeometry::of(impl);
  geometry.own_sizes = std::move(sizes);
  geometry.own_strides = std::move(strides);
  geometry.own_storage_offset = std::move(storage_offset);
  impl.set_policies(impl.policies() | TensorImpl::kSymbolic);
}

SymIntSpan own_sym_sizes(const TensorImpl& tensor) {
  const CachedGeometry* const symbolic = find_symbolic(tensor);
  return symbolic != nullptr ? SymIntSpan(symbolic->own_sizes) : sym_ints(tensor.own_sizes());
}

SymIntSpan own_sym_strides(const TensorImpl& tensor) {
  const CachedGeometry* const symbolic = find_symbolic(tensor);
  return symbolic != nullptr ? SymIntSpan(symbolic->own_strides) : sym_ints(tensor.own_strides());
}

SymInt own_sym_numel(const TensorImpl& tensor) {
  const CachedGeometry* const symbolic = find_symbolic(tensor);
  if (symbolic == nullptr) return tensor.own_numel();
  if (symbolic->own_sizes.empty()) return 1;
  SymInt count = symbolic->own_sizes[0];
  for (const SymInt& size : SymIntSpan(symbolic->own_sizes).subspan(1)) count = count * size;
  return count;
}

SymInt own_sym_storage_offset(const TensorImpl& tensor) {
  const CachedGeometry* const symbolic = find_symbolic(tensor);
  return symbolic != nullptr ? symbolic->own_storage_offset : SymInt(tensor.own_storage_offset());
}

SymIntSpan sym_sizes(const Tensor& tensor) {
  const TensorImpl& impl = require_defined(tensor);
  if (!impl.has_policy(TensorImpl::kCustomSizes)) return own_sym_sizes(impl);
  SymIntSpan sizes;
  impl.definer().sym_sizes(impl, sizes);
  return sizes;
}

SymIntSpan sym_strides(const Tensor& tensor) {
  const TensorImpl& impl = require_defined(tensor);
  if (!impl.has_policy(TensorImpl::kCustomStrides)) return own_sym_strides(impl);
  SymIntSpan strides;
  impl.definer().sym_strides(impl, strides);
  return strides;
}

SymInt sym_numel(const Tensor& tensor) {
  const TensorImpl& impl = require_defined(tensor);
  if (!impl.has_policy(TensorImpl::kCustomSizes)) return own_sym_numel(impl);
  SymInt count;
  impl.definer().sym_numel(impl, count);
  return count;
}

SymInt sym_storage_offset(const Tensor& tensor) {
  const TensorImpl& impl = require_defined(tensor);
  if (!impl.has_policy(TensorImpl::kCustomSizes)) return own_sym_storage_offset(impl);
  SymInt offset;
  impl.definer().sym_storage_offset(impl, offset);
  return offset;
}

}  // namespace opyard
