// opyard/tensor/memory_format.h: memory formats: the order of dimensions in memory.
//
//   Contiguous       the last dimension is densest: rows of an N, C, H, W tensor follow each other
//   ChannelsLast     of 4 dimensions N, C, H, W: C is densest, then W, H, N
//   ChannelsLast3d   of 5 dimensions N, C, D, H, W: C is densest, then W, H, D, N
//   Preserve         as the source is; if there is no source, it means nothing
//
// Depends on: tensor/tensor.h.
#pragma once

#include "opyard/tensor/tensor.h"

namespace opyard {

// The strides, in elements, that sizes have in a format. Raises BadShape if the format is for
// another number of dimensions or a stride does not fit in 64 bits, BadValue for Preserve.
OPYARD_API DimVector strides_in(MemoryFormat format, IntSpan sizes);

// Whether a tensor is in a format without gaps; strides of dimensions of size 1 do not count. False
// if the format is for another number of dimensions. Raises BadValue for Preserve.
OPYARD_API bool is_contiguous_in(MemoryFormat format, const Tensor& tensor);

// Whether its strides grow in the order of a format, gaps or not. False if the format is for
// another number of dimensions, and for a tensor without elements. Raises BadValue for Preserve.
OPYARD_API bool is_strides_like(MemoryFormat format, const Tensor& tensor);

// Whether its elements fill one block of memory, each once, in whatever order.
OPYARD_API bool is_non_overlapping_and_dense(const Tensor& tensor);

// The same of the geometry that a tensor was made with, whatever its class says.
OPYARD_API bool own_contiguous_in(MemoryFormat format, const TensorImpl& tensor);
OPYARD_API bool own_strides_like(MemoryFormat format, const TensorImpl& tensor);
OPYARD_API bool own_non_overlapping_and_dense(const TensorImpl& tensor);

// A new tensor of uninitialised elements. Raises what strides_in() and Tensor::empty() raise.
OPYARD_API Tensor empty_in(MemoryFormat format, IntSpan sizes, DType dtype = DType::Float32,
                           Device device = {});

}  // namespace opyard
