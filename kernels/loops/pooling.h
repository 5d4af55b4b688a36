// loops/pooling.h: the largest elements of windows that are one behind the other, row by row.
//
// Depends on: nothing.
#pragma once

#include <cstdint>
#include <type_traits>

namespace opyard::kernels {

// Places are counted in integers of an element's size, which go through registers with them.
template <typename T>
using PlaceOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

// A row of an image, and what the windows above it have found so far. Window i meets the elements
// first + i * stride + j * step for j below `kernel`, of which those outside of the row are none.
template <typename T>
struct PoolRow {
  const T* row;
  std::int64_t width;
  std::int64_t place;  // of the row's first element in the image
  std::int64_t kernel, step, stride, first;
  std::int64_t windows;
  T* largest;
  PlaceOf<T>* places;
};

template <typename T>
using PoolRowLoop = void (*)(const PoolRow<T>&);

}  // namespace opyard::kernels
