// loops/pooling.cpp: the largest elements of windows: a row meets all windows of a line at once.
//
// An element takes a place if it is larger than what is there, or NaN. So of equal elements the
// first one of a window is found, and of NaN the last one.
#include "loops/pooling.h"

#include <algorithm>

#include "loops/element.h"
#include "loops/kinds.h"

namespace opyard::kernels {
namespace {

// `count` windows, whose elements are `stride` apart, or `by` if that is 0.
template <typename T, int stride>
void take_elements(const T* from, std::int64_t by, std::int64_t count, std::int64_t place,
                   T* largest, PlaceOf<T>* places) {
  const std::int64_t apart = stride == 0 ? by : stride;
  OPYARD_IVDEP
  for (std::int64_t i = 0; i < count; ++i) {
    const T x = from[i * apart];
    const bool takes = (x > largest[i]) | is_nan(x);
    largest[i] = takes ? x : largest[i];
    places[i] = takes ? PlaceOf<T>(place + i * apart) : places[i];
  }
}

template <typename T>
void take_row(const PoolRow<T>& r) {
  for (std::int64_t j = 0; j < r.kernel; ++j) {
    const std::int64_t first = r.first + j * r.step, after = r.width - first;
    const std::int64_t begin = first < 0 ? (r.stride - 1 - first) / r.stride : 0;
    const std::int64_t end =
        std::min(r.windows, after <= 0 ? 0 : (after + r.stride - 1) / r.stride);
    if (begin >= end) continue;
    const std::int64_t at = first + begin * r.stride;
    const auto take = r.stride == 1   ? &take_elements<T, 1>
                      : r.stride == 2 ? &take_elements<T, 2>
                                      : &take_elements<T, 0>;
    take(r.row + at, r.stride, end - begin, r.place + at, r.largest + begin, r.places + begin);
  }
}

}  // namespace

constexpr PoolingLoops kPooling = {.largest_int64 = &take_row<std::int64_t>,
                                   .largest_float32 = &take_row<float>,
                                   .largest_float64 = &take_row<double>};

}  // namespace opyard::kernels
