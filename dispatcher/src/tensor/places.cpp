// tensor/places.cpp: looking for two elements in one place.
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
