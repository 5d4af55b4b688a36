// tensor/memory_format.cpp: strides of a memory format: dimensions ordered by density.
#include "opyard/tensor/memory_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tensor/geometry.h"

namespace opyard {
namespace {

using Order = SmallVector<std::size_t, 5>;

std::size_t dimensions_of(MemoryFormat format) {
  return format == MemoryFormat::ChannelsLast ? 4 : 5;
}

// The dimensions, densest first; nothing if the format is for another number of them.
std::optional<Order> order_of(MemoryFormat format, std::size_t dimensions) {
  if (format == MemoryFormat::Preserve) {
    fail(ErrorKind::BadValue,
         "the memory format 'preserve' means that of a source, and there is no source here; name "
         "contiguous, channels last or channels last 3d");
  }
  Order order;
  if (format == MemoryFormat::Contiguous) {
    for (std::size_t i = dimensions; i-- > 0;) order.push_back(i);
    return order;
  }
  if (dimensions != dimensions_of(format)) return std::nullopt;
  order.push_back(1);
  for (std::size_t i = dimensions; i-- > 2;) order.push_back(i);
  order.push_back(0);
  return order;
}

// Whether dimensions in this order, the densest first, leave no gap and do not overlap.
bool is_dense(const Order& order, IntSpan sizes, IntSpan strides) {
  std::int64_t expected = 1;
  for (const std::size_t i : order) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

// What is asked of a tensor. Raises BadValue for the undefined one and for symbolic strides that no
// class answers for.
const TensorImpl& asked(const Tensor& tensor, const char* what) {
  static_cast<void>(tensor.dtype());  // refuses the undefined tensor
  const TensorImpl& impl = *tensor.impl();
  if (impl.has_policy(TensorImpl::kSymbolic) && !impl.has_policy(TensorImpl::kCustomStrides)) {
    refuse_symbolic(what);
  }
  return impl;
}

}  // namespace

DimVector strides_in(MemoryFormat format, IntSpan sizes) {
  const std::optional<Order> order = order_of(format, sizes.size());
  if (!order) {
    fail(ErrorKind::BadShape,
         fmt::format("sizes {} have {} dimensions, but this memory format is for {}",
                     describe_sizes(sizes), sizes.size(), dimensions_of(format)));
  }
  DimVector strides(sizes.size(), 1);
  std::int64_t stride = 1;
  for (const std::size_t i : *order) {
    const bool last = i == (*order)[order->size() - 1];  // no stride comes from its size
    strides[i] = stride;
    if (__builtin_mul_overflow(stride, std::max<std::int64_t>(sizes[i], 1), &stride) && !last) {
      fail(ErrorKind::BadShape, fmt::format("sizes {} need a stride that does not fit in 64 bits",
                                            describe_sizes(sizes)));
    }
  }
  return strides;
}

bool own_contiguous_in(MemoryFormat format, const TensorImpl& tensor) {
  const std::optional<Order> order = order_of(format, tensor.own_sizes().size());
  if (!order) return false;
  return tensor.own_numel() == 0 || is_dense(*order, tensor.own_sizes(), tensor.own_strides());
}

// A dimension of size 1 has a stride as any other here: it is the order of strides that counts.
bool own_strides_like(MemoryFormat format, const TensorImpl& tensor) {
  const std::optional<Order> order = order_of(format, tensor.own_sizes().size());
  if (!order || tensor.own_numel() == 0) return false;
  std::int64_t least = 0;
  for (const std::size_t i : *order) {
    const std::int64_t stride = tensor.own_strides()[i];
    if (stride < std::max<std::int64_t>(least, 1)) return false;
    if (__builtin_mul_overflow(stride, tensor.own_sizes()[i], &least)) return false;
  }
  return true;
}

bool own_non_overlapping_and_dense(const TensorImpl& tensor) {
  if (tensor.own_numel() == 0) return true;
  const IntSpan strides = tensor.own_strides();
  Order order(strides.size(), 0);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return strides[a] < strides[b]; });
  return is_dense(order, tensor.own_sizes(), strides);
}

bool is_contiguous_in(MemoryFormat format, const Tensor& tensor) {
  const TensorImpl& impl = asked(tensor, "is_contiguous");
  return impl.has_policy(TensorImpl::kCustomStrides) ? impl.definer().is_contiguous(impl, format)
                                                     : own_contiguous_in(format, impl);
}

bool is_strides_like(MemoryFormat format, const Tensor& tensor) {
  const TensorImpl& impl = asked(tensor, "is_strides_like");
  return impl.has_policy(TensorImpl::kCustomStrides) ? impl.definer().is_strides_like(impl, format)
                                                     : own_strides_like(format, impl);
}

bool is_non_overlapping_and_dense(const Tensor& tensor) {
  const TensorImpl& impl = asked(tensor, "is_non_overlapping_and_dense");
  return impl.has_policy(TensorImpl::kCustomStrides)
             ? impl.definer().is_non_overlapping_and_dense(impl)
             : own_non_overlapping_and_dense(impl);
}

Tensor empty_in(MemoryFormat format, IntSpan sizes, DType dtype, Device device) {
  const DimVector strides = strides_in(format, sizes);
  const Tensor rows = Tensor::empty(sizes, dtype, device);
  return format == MemoryFormat::Contiguous ? rows : rows.as_strided(sizes, strides, 0);
}

}  // namespace opyard
