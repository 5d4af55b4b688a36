// opyard/tensor/places.h: memory extent and overlap of a geometry's elements.
//
// Depends on: tensor/tensor.h.
#pragma once

#include <cstdint>
#include <optional>

#include "opyard/tensor/tensor.h"

namespace opyard {

// The lowest (0 or less) and highest (0 or more) element offset, from the first element.
struct Extent {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
};

// For sizes of 1 or more, and as many strides. Nothing if an offset passes int64.
OPYARD_API std::optional<Extent> find_extent(IntSpan sizes, IntSpan strides) noexcept;

// Whether two elements of such sizes and strides are one place in memory, as after expand() or
// unfold(), for a geometry with an Extent. Costs a look at each element if the strides of
// dimensions lie inside one another.
OPYARD_API bool shows_a_place_twice(IntSpan sizes, IntSpan strides);

}  // namespace opyard
