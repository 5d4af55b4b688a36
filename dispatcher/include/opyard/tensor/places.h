// opyard/tensor/places.h: elements of a geometry that are one place in memory.
//
// Depends on: tensor/tensor.h.
#pragma once

#include "opyard/tensor/tensor.h"

namespace opyard {

// Whether two elements of such sizes and strides are one place in memory, as after expand() or
// unfold(). Costs a look at each element if the strides of dimensions lie inside one another.
OPYARD_API bool shows_a_place_twice(IntSpan sizes, IntSpan strides);

}  // namespace opyard
