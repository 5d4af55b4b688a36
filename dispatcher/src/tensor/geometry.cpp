// tensor/geometry.cpp: overflow-checked arithmetic on sizes and strides.
//
// Sizes and strides come from anyone: a schema default, a Python list, a foreign array.
// So every product and sum here is made with overflow checks, and what does not fit in
// an int64 is refused before any address is computed from it.
#include "tensor/geometry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace opyard {

void require_same_length(IntSpan sizes, IntSpan strides) {
  if (sizes.size() == strides.size()) return;
  fail(ErrorKind::BadShape,
       fmt::format("{} sizes were given with {} strides: {} and {}; there must "
                   "be one stride for each size",
                   sizes.size(), strides.size(), describe_sizes(sizes), describe_sizes(strides)));
}

std::string describe_sizes(IntSpan sizes) {
  return fmt::format("[{}]", fmt::join(sizes.begin(), sizes.end(), ", "));
}

namespace {

// If one of the sizes is 0 or less, or their product too large: raises, or there are no
// elements.
OPYARD_COLD std::int64_t require_no_elements(IntSpan sizes) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] >= 0) continue;
    fail(ErrorKind::BadShape,
         fmt::format("sizes {} are negative in dimension {}; a size is 0 or more",
                     describe_sizes(sizes), i));
  }
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
  fail(ErrorKind::BadShape,
       fmt::format("sizes {} have more elements than fit in 64 bits", describe_sizes(sizes)));
}

}  // namespace

std::int64_t count_elements(IntSpan sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    const bool overflows = __builtin_mul_overflow(count, size, &count);
    if (__builtin_expect(size <= 0 || overflows, 0)) return require_no_elements(sizes);
  }
  return count;
}

DimVector contiguous_strides(IntSpan sizes) {
  DimVector strides(sizes.size(), 1);
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    if (i > 0 && __builtin_mul_overflow(stride, std::max<std::int64_t>(sizes[i], 1), &stride)) {
      fail(ErrorKind::BadShape, fmt::format("sizes {} need a stride that does not fit in 64 bits",
                                            describe_sizes(sizes)));
    }
  }
  return strides;
}

}  // namespace opyard
