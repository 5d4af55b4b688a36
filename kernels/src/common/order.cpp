// kernels/common/order.cpp: dimension order by the strides of several tensors.
#include "common/order.h"

#include "common/symbolic_results.h"
#include "opyard/tensor/broadcast.h"
#include "opyard/tensor/wrapped_stride.h"

#include <array>
#include <cstdint>
#include <utility>

namespace opyard::kernels {
namespace {

// The stride of an input along a dimension of the result; 0 if it is broadcast there.
std::int64_t stride_along(const Laid& input, IntSpan sizes, std::size_t dim) {
  const std::size_t missing = sizes.size() - input.sizes.size();
  if (dim < missing) return 0;
  return expanded_stride(input.sizes[dim - missing], sizes[dim], input.strides[dim - missing]);
}

// Also of the lowest number, which no int64_t is the magnitude of.
std::uint64_t magnitude(std::int64_t stride) {
  const auto bits = std::uint64_t(stride);
  return stride < 0 ? 0 - bits : bits;
}

// Whether dimension `inner` belongs outside of `outer`: 1 if so, -1 if not, 0 if no one says.
int compare_strides(IntSpan sizes, std::span<const Laid> inputs, std::size_t inner,
                    std::size_t outer) {
  for (const Laid& input : inputs) {
    const std::int64_t a = stride_along(input, sizes, inner);
    const std::int64_t b = stride_along(input, sizes, outer);
    if (a == 0 || b == 0) continue;
    if (magnitude(a) != magnitude(b)) return magnitude(a) < magnitude(b) ? -1 : 1;
    if (sizes[inner] > sizes[outer]) return 1;
  }
  return 0;
}

// Strides without gaps, for dimensions from the innermost to the outermost.
template <typename Dims>
DimVector dense_strides(IntSpan sizes, const Dims& order) {
  DimVector strides(sizes.size(), 1);
  std::int64_t step = 1;
  for (const auto dim : order) {
    strides[std::size_t(dim)] = step;
    step *= sizes[std::size_t(dim)];
  }
  return strides;
}

}  // namespace

DimVector ordered_strides(IntSpan sizes, std::span<const Laid> inputs) {
  DimVector order;  // innermost first
  for (std::size_t i = sizes.size(); i-- > 0;) order.push_back(std::int64_t(i));
  for (std::size_t i = 1; i < order.size(); ++i) {
    std::size_t moved = i;
    for (std::size_t before = i; before-- > 0;) {
      const int answer =
          compare_strides(sizes, inputs, std::size_t(order[before]), std::size_t(order[moved]));
      if (answer < 0) break;
      if (answer == 0) continue;
      std::swap(order[before], order[moved]);
      moved = before;
    }
  }
  return dense_strides(sizes, order);
}

DimVector ordered_strides(IntSpan sizes, std::span<const Tensor* const> inputs) {
  SmallVector<Laid, 4> laid;
  for (const Tensor* const input : inputs) laid.push_back({input->sizes(), input->strides()});
  return ordered_strides(sizes, std::span<const Laid>(laid.begin(), laid.size()));
}

bool is_row_major_in(const Tensor& like, std::optional<MemoryFormat> format) {
  return format == MemoryFormat::Contiguous || has_symbolic_sizes(like) || like.is_contiguous();
}

Tensor empty_in_format(const Tensor& like, std::optional<MemoryFormat> format, DType dtype,
                       Device device) {
  if (has_symbolic_sizes(like)) return symbolic_like("aten::empty_like", like, dtype);
  if (is_row_major_in(like, format)) return Tensor::empty(like.sizes(), dtype, device);
  const std::array<const Tensor*, 1> inputs = {&like};
  return empty_with_strides(like.sizes(), ordered_strides(like.sizes(), inputs), dtype, device);
}

Tensor empty_with_strides(IntSpan sizes, IntSpan strides, DType dtype, Device device) {
  const Tensor plain = Tensor::empty(sizes, dtype, device);
  const TensorImpl& impl = *plain.impl();
  return Tensor(make_counted<TensorImpl>(impl.storage(), dtype, sizes, strides, 0, impl.keys()));
}

DimVector channels_last_strides(IntSpan sizes) {
  DimVector order = {1};
  for (std::size_t i = sizes.size() - 1; i > 1; --i) order.push_back(std::int64_t(i));
  order.push_back(0);
  return dense_strides(sizes, order);
}

bool is_channels_last(const Tensor& tensor) {
  const IntSpan sizes = tensor.sizes(), strides = tensor.strides();
  if (sizes.size() != 4 && sizes.size() != 5) return false;
  if (strides[1] == 0) return false;
  std::int64_t least = 0;
  const auto reaches = [&](std::size_t dim) {
    if (sizes[dim] == 0 || strides[dim] < least) return false;
    if (dim == 0 && least == strides[1]) return false;
    least = wrapped_product(strides[dim], sizes[dim]);
    return true;
  };
  if (!reaches(1)) return false;
  for (std::size_t dim = sizes.size() - 1; dim > 1; --dim) {
    if (!reaches(dim)) return false;
  }
  return reaches(0);
}

}  // namespace opyard::kernels
