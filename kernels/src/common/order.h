// kernels/common/order.h: the order in memory of a result's dimensions.
//
// [Order] Results of elementwise operators keep the order of their inputs' dimensions, as PyTorch's
// do: the inputs in turn say of two dimensions which has the larger stride, if neither is broadcast
// there; without an answer they stay row-major. A result has no gaps.
//
//   x.t() * 2   of x[2, 3]: sizes [3, 2], strides [1, 3]
//
// Depends on: opyard/tensor.h.
#pragma once

#include <optional>
#include <span>

#include "opyard/tensor.h"
#include "opyard/tensor/memory_format.h"

namespace opyard::kernels {

// How an input is ordered.
struct Laid {
  IntSpan sizes, strides;
};

// See [Order]. The sizes of inputs broadcast to those of the result.
DimVector ordered_strides(IntSpan sizes, std::span<const Laid> inputs);
DimVector ordered_strides(IntSpan sizes, std::span<const Tensor* const> inputs);

// [Copies] A copy keeps the order of dimensions, unless a format asks for row-major.
Tensor empty_in_format(const Tensor& like, std::optional<MemoryFormat> format, DType dtype,
                       Device device);
// Whether such a copy is row-major.
bool is_row_major_in(const Tensor& like, std::optional<MemoryFormat> format);

// A new tensor with these strides, which leave no gaps.
Tensor empty_with_strides(IntSpan sizes, IntSpan strides, DType dtype, Device device);

// Whether the channels of images, [N, C, H, W] or [N, C, D, H, W], are innermost.
bool is_channels_last(const Tensor& tensor);
// The strides of such a tensor.
DimVector channels_last_strides(IntSpan sizes);

}  // namespace opyard::kernels
