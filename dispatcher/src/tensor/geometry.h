// tensor/geometry.h: the offsets that sizes and strides reach. Not public.
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
std::optional<Extent> find_extent(IntSpan sizes, IntSpan strides) noexcept;

// Raises BadShape, showing both, if there is not one stride for each size.
void require_same_length(IntSpan sizes, IntSpan strides);

}  // namespace opyard
