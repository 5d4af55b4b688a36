// tensor/geometry.cpp: arithmetic on sizes and strides that cannot overflow unseen.
//
// Sizes and strides come from anyone: a schema default, a Python list, a foreign array.
// So every product and sum here is made with overflow checks, and what does not fit in
// an int64 is refused before any address is computed from it.
//
// [Extent] The elements a geometry touches are between two offsets. From the first element
// each dimension reaches (size - 1) * stride further, upwards or, for a negative stride,
// downwards; the reaches of both directions add up apart from each other.
#include "tensor/geometry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace opyard {

// In two variables, which stay in registers: through a reference to one of a struct's members the
// struct is read as a whole right after it was written in parts, and the processor waits (8 ns;
// bench row foreign_table).
std::optional<Extent> find_extent(IntSpan sizes, IntSpan strides) noexcept {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach)) return std::nullopt;
    if (__builtin_add_overflow(lowest, std::min<std::int64_t>(reach, 0), &lowest))
      return std::nullopt;
    if (__builtin_add_overflow(highest, std::max<std::int64_t>(reach, 0), &highest))
      return std::nullopt;
  }
  return Extent{lowest, highest};
}

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
