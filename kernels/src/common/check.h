// kernels/common/check.h: checks of arguments that kernels share.
//
// Every function takes the operator's name and the argument's, and raises a sentence that
// holds both, what came, and what is accepted.
//
// Depends on: common/text.h.
#pragma once

#include <cstdint>
#include <optional>

#include "common/text.h"
#include "loops/loop.h"

namespace opyard::kernels {

inline std::byte* bytes_of(const Tensor& tensor) {
  return static_cast<std::byte*>(tensor.impl()->data());
}

// [Meta] A kernel that is registered for meta tensors, too, makes its result there and is done.
// A new tensor where `like` is.
inline Tensor empty_beside(const Tensor& like, IntSpan sizes, DType dtype) {
  return Tensor::empty(sizes, dtype, is_meta(like) ? like.device() : Device{});
}

// Raises BadArgument.
void require_defined(const char* op, const char* argument, const Tensor& tensor);
// A defined tensor on the CPU, or on meta, of any dtype. Raises BadArgument, Unsupported.
void require_cpu(const char* op, const char* argument, const Tensor& tensor);
// The same, of any dtype but the complex ones, which have no order. Raises Unsupported.
void require_ordered(const char* op, const char* argument, const Tensor& tensor);
// The same, of bool, int64, float32 or float64, for a kernel without a way to other dtypes. Raises
// Unsupported.
void require_computed(const char* op, const char* argument, const Tensor& tensor);
// The same, of int64 or int32. Raises BadArgument.
void require_index_dtype(const char* op, const char* argument, const Tensor& tensor);
// The same for a composition, of any device and class. Raises BadArgument.
void require_int_dtype(const char* op, const char* argument, const Tensor& tensor);
// The same, of exactly this dtype. Raises BadArgument.
void require_dtype(const char* op, const char* argument, const Tensor& tensor, DType dtype);

// A defined tensor of floats or of complex numbers. Raises BadArgument.
void require_inexact(const char* op, const char* argument, const Tensor& tensor);

// A defined tensor that is not of complex numbers. Raises Unsupported.
void require_not_complex(const char* op, const char* argument, const Tensor& tensor);

// Two defined tensors of one dtype. Raises BadArgument.
void require_one_dtype(const char* op, const char* first, const Tensor& a, const char* second,
                       const Tensor& b);

// A number that is not complex. Raises Unsupported.
void require_real(const char* op, const char* argument, const Scalar& number);

// A dimension counted from the front; `count` is the number of dimensions. A tensor without
// dimensions is taken as if it had one. Raises BadIndex.
std::int64_t wrap_dim(const char* op, std::int64_t dim, std::int64_t count);

// The dimension from the front that a part of self is taken along. Raises BadShape for a tensor
// without dimensions, BadIndex, and BadArgument for one that is undefined.
std::size_t require_slice_dim(const char* op, const Tensor& self, std::int64_t dim);

// Raises BadIndex unless `index`, the argument's value, counts an element of the dimension from
// the front or from the end.
void require_index(const char* op, const char* argument, std::int64_t index, std::size_t dim,
                   const Tensor& self);

// A list of dimensions as flags, one for each dimension. Raises BadIndex, and BadValue for a
// dimension that is named twice.
SmallVector<bool, 8> dim_flags(const char* op, IntSpan dims, std::int64_t count);

// The sizes a shape argument stands for, where one of them may be -1: "what is left of
// `numel` elements". Raises BadShape.
DimVector infer_sizes(const char* op, IntSpan sizes, std::int64_t numel);
// Sizes without negative numbers. Raises BadShape.
void require_sizes(const char* op, IntSpan sizes);
// The same, of which a tensor can be made: its bytes fit in 64 bits. Raises BadShape.
void require_sizes_of(const char* op, const char* argument, IntSpan sizes, DType dtype);
// How many elements in a row hold all elements of these sizes and strides: at least one. Raises
// BadShape, also if that number does not fit in 64 bits.
std::int64_t room_of(const char* op, IntSpan size, IntSpan stride);

// Floats are cut to integers. Raises BadValue if an integer dtype cannot hold the number,
// Unsupported for a complex number if the dtype is not.
Number number_in(const char* op, const char* argument, const Scalar& scalar, DType dtype);

// Memory formats and layouts that kernels give: row-major, strided, unpinned. Raises Unsupported.
void require_row_major(const char* op, std::optional<MemoryFormat> format);
void require_plain(const char* op, std::optional<Layout> layout, std::optional<bool> pin_memory);

}  // namespace opyard::kernels
