// tensor/geometry.h: checks of sizes and strides. Not public.
//
// Depends on: tensor/tensor.h.
#pragma once

#include "opyard/tensor/tensor.h"

namespace opyard {

// Raises BadShape, showing both, if there is not one stride for each size.
void require_same_length(IntSpan sizes, IntSpan strides);

}  // namespace opyard
