// kernels/common/write.h: checks before a tensor is written in place.
//
// Depends on: common/check.h.
#pragma once

#include "common/check.h"

namespace opyard::kernels {

// Raises BadValue if several elements of the tensor are one place in memory, as after
// expand(), and Unsupported for a tensor that is not on the CPU. Read-only memory is refused
// when the version is bumped.
void require_writable(const char* op, const char* argument, const Tensor& tensor);

// Raises BadShape unless the sizes are those of the result.
void require_result_sizes(const char* op, const char* argument, const Tensor& written,
                          IntSpan sizes);
// Raises BadArgument if one of the two is on meta, which has no elements, and the other is not.
void require_result_device(const char* op, const char* argument, const Tensor& written,
                           Device device);
// Raises BadArgument if the result's category (bool, integer, float) is above the tensor's.
void require_storable(const char* op, const char* argument, const Tensor& written, DType result);

// Whether the two touch common memory, judged by the addresses they span.
bool overlap(const Tensor& a, const Tensor& b);

// The input as it may be read while `written` is written element by element: itself where the
// two are apart or are exactly on each other, else a copy.
Tensor apart_from(const char* op, const Tensor& input, const Tensor& written);

}  // namespace opyard::kernels
