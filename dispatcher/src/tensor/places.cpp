// tensor/places.cpp: extent of a geometry, and internal overlap.
//
// [Extent] The elements a geometry touches are between two offsets. From the first element
// each dimension reaches (size - 1) * stride further, upwards or, for a negative stride,
// downwards; the reaches of both directions add up apart from each other.
#include "opyard/tensor/places.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace opyard {
namespace {

using Dims =
    std::vector<std::pair<std::int64_t, std::int64_t>>;  // stride and size, the densest first

bool is_any_place_taken_twice(const Dims& dims, std::int64_t count) {
  std::vector<std::int64_t> places = {0};
  places.reserve(std::size_t(count));
  for (const auto& [step, size] : dims) {
    const std::size_t known = places.size();
    for (std::int64_t k = 1; k < size; ++k) {
      for (std::size_t i = 0; i < known; ++i) places.push_back(places[i] + k * step);
    }
  }
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) != places.end();
}

}  // namespace

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

bool shows_a_place_twice(IntSpan sizes, IntSpan strides) {
  Dims dims;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return false;
    if (sizes[i] > 1) dims.emplace_back(std::abs(strides[i]), sizes[i]);
  }
  std::sort(dims.begin(), dims.end());
  std::int64_t reach = 0, count = 1;
  bool are_apart = true;
  for (const auto& [step, size] : dims) {
    if (step == 0) return true;
    are_apart = are_apart && step > reach;
    reach += step * (size - 1);
    count *= size;
  }
  if (are_apart) return false;
  return count > reach + 1 || is_any_place_taken_twice(dims, count);
}

}  // namespace opyard
