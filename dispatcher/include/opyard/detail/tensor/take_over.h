// opyard/detail/tensor/take_over.h: takes over the memory of a tensor that has no other owner.
//
// Depends on: tensor/tensor.h.
#pragma once

#include "opyard/tensor/tensor.h"

namespace opyard::detail {

// A new tensor with the dtype, sizes and strides of another one, on its memory. The caller is the
// other one's only owner, has not borrowed it, and lets it go. Undefined if the memory is not
// Opyard's own, has room for more or was written in place, if anyone else may see it or the
// tensor, or something is kept with them. Raises std::bad_alloc.
OPYARD_API Tensor take_over(const TensorImpl& tensor);

}  // namespace opyard::detail
