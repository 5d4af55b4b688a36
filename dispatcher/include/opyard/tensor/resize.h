// opyard/tensor/resize.h: resizing and restriding a tensor in place.
//
// Geometry is constant once a tensor is shared, but for these functions. Whoever calls one answers
// for no other thread using the tensor.
//
// [Growing] Sizes that need more bytes than the storage has get a storage of their own, with the
// elements copied. The former memory lives until the tensor grows once more or ends: a call that is
// in the middle of reading it can go on. Others who hold the memory would keep the former one
// without a word, so growing is refused when there are others: views, saved tensors, an array that
// the memory came from, and what was given its address, as an array of NumPy is.
//
// Depends on: tensor/memory_format.h.
#pragma once

#include <optional>

#include "opyard/tensor/memory_format.h"

namespace opyard {

// A mark of a TensorImpl: the address of its memory was given away.
inline constexpr std::uint8_t kLent = 8;
// Sets it.
OPYARD_API void note_lent(const Tensor& tensor) noexcept;

// Elements keep their order in memory; what is new is uninitialised. Strides are those of the
// format, row-major without one; then a tensor that has the sizes stays as it is. Counts
// a version if something changes. Raises BadShape for sizes that are negative or too large,
// BadValue for memory that cannot grow, for borrowed memory and for a tensor that needs a gradient,
// Unsupported for geometry of a class's own or symbolic and for devices other than cpu and meta.
OPYARD_API void resize(const Tensor& tensor, IntSpan sizes, std::optional<MemoryFormat> format);

// Gives the tensor the sizes, strides and offset of `view`, a view of it that no one else has, and
// counts a version. Raises BadValue for borrowed memory, and for a tensor that needs a gradient
// while gradients are off: its history is of the former sizes. While they are on, the caller
// gives it another one. Raises Unsupported for geometry of a class's own.
OPYARD_API void take_geometry(const Tensor& tensor, const Tensor& view);

}  // namespace opyard
