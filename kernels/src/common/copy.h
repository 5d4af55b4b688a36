// kernels/common/copy.h: copies between geometries and dtypes.
//
// Depends on: common/check.h.
#pragma once

#include "common/check.h"

namespace opyard::kernels {

// Writes `source`, broadcast to the sizes of `written`, into it. The two do not overlap. All dtypes
// are converted into each other (see copy.cpp [Conversion]). Leaves the version alone: it is for
// tensors no one else has seen, and for kernels that have bumped it. On meta there is nothing to
// do. Raises BadShape for sizes that do not broadcast, Unsupported for a source on meta alone.
void copy_elements(const char* op, const Tensor& written, const Tensor& source);

// A new row-major tensor with the same elements, where the source is.
Tensor row_major_copy(const char* op, const Tensor& source);
// The tensor itself if it is row-major already.
Tensor row_major(const char* op, const Tensor& source);
// The tensor itself if it has the dtype already, else a converted row-major copy.
Tensor converted(const char* op, const Tensor& source, DType dtype);

// The elements as a kernel orders them: as converted() to what carries them, but uint64 with the
// upper bit flipped (loop.h [Unsigned]). from_order() takes them back to their dtype.
Tensor in_order(const char* op, const Tensor& source);
Tensor from_order(const char* op, const Tensor& source, DType dtype);

// The loop that converts: operands are what is written and what is read.
Loop conversion_loop(DType to, DType from);
// The loop of in_order() and from_order() for uint64.
Loop order_loop();

// Fills a tensor that no one else has seen, or whose version was bumped.
void fill_elements(const Tensor& written, const Number& number);

}  // namespace opyard::kernels
