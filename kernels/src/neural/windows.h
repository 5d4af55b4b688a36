// kernels/neural/windows.h: the windows of an image that a kernel of a convolution meets, as columns
// of a matrix.
//
//   image     channels x (depth x) height x width
//   columns   one row for each channel and place of the kernel, one column for each window
//
// Images of one or two dimensions have sizes of 1 in front. Places outside of the image are zero.
//
// Depends on: nothing of this library.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "loops/element.h"

namespace opyard::kernels {

using Size3 = std::array<std::int64_t, 3>;
constexpr std::int64_t count_of(const Size3& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

struct Windows {
  Size3 image = {1, 1, 1};
  Size3 kernel = {1, 1, 1};
  Size3 stride = {1, 1, 1};
  Size3 padding = {0, 0, 0};
  Size3 dilation = {1, 1, 1};
  Size3 count = {1, 1, 1};  // of windows

  // One place of the kernel in each window: what columns are from the image as it is.
  bool are_places() const {
    return count_of(kernel) == 1 && count_of(stride) == 1 && padding == Size3{0, 0, 0};
  }
};

namespace detail {

// Calls run(place in the row, place in the image, first and end of what is inside, length) for each
// stretch of the windows from begin to end whose places are in one line of the image; a place in
// the image of null is outside.
template <typename Run>
void each_stretch(const Windows& w, std::int64_t place, std::int64_t begin, std::int64_t end,
                  const Run& run) {
  const std::int64_t kw = place % w.kernel[2], kh = place / w.kernel[2] % w.kernel[1];
  const std::int64_t kd = place / w.kernel[2] / w.kernel[1];
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t column = at % w.count[2], line = at / w.count[2];
    const std::int64_t length = std::min(w.count[2] - column, end - at);
    const std::int64_t d = line / w.count[1] * w.stride[0] - w.padding[0] + kd * w.dilation[0];
    const std::int64_t h = line % w.count[1] * w.stride[1] - w.padding[1] + kh * w.dilation[1];
    const std::int64_t x = column * w.stride[2] - w.padding[2] + kw * w.dilation[2];
    if (d < 0 || d >= w.image[0] || h < 0 || h >= w.image[1]) {
      run(at - begin, std::int64_t{0}, std::int64_t{0}, std::int64_t{0}, length);
    } else {
      const std::int64_t step = w.stride[2];
      const std::int64_t first = std::clamp<std::int64_t>((step - 1 - x) / step, 0, length);
      const std::int64_t stop = w.image[2] - x;
      const std::int64_t after = stop <= 0 ? 0 : (stop + step - 1) / step;
      run(at - begin, (d * w.image[1] + h) * w.image[2] + x, first,
          std::clamp<std::int64_t>(after, first, length), length);
    }
    at += length;
  }
}

}  // namespace detail

// Writes the windows from begin to end of some channels, row after row.
template <typename T>
void read_columns(const Windows& w, const T* image, std::int64_t channels, std::int64_t begin,
                  std::int64_t end, T* columns) {
  const std::int64_t places = count_of(w.kernel), step = w.stride[2];
  for (std::int64_t row = 0; row < channels * places; ++row, columns += end - begin) {
    const T* const from = image + row / places * count_of(w.image);
    detail::each_stretch(w, row % places, begin, end,
                         [&](std::int64_t at, std::int64_t place, std::int64_t first,
                             std::int64_t stop, std::int64_t length) {
                           T* const to = columns + at;
                           std::fill(to, to + first, T(0));
                           std::fill(to + stop, to + length, T(0));
                           if (step == 1) {
                             std::copy(from + place + first, from + place + stop, to + first);
                             return;
                           }
                           for (std::int64_t i = first; i < stop; ++i)
                             to[i] = from[place + i * step];
                         });
  }
}

// Adds them to where they were read.
template <typename T>
void add_columns(const Windows& w, const T* columns, std::int64_t channels, std::int64_t begin,
                 std::int64_t end, T* image) {
  const std::int64_t places = count_of(w.kernel), step = w.stride[2];
  for (std::int64_t row = 0; row < channels * places; ++row, columns += end - begin) {
    T* const to = image + row / places * count_of(w.image);
    detail::each_stretch(w, row % places, begin, end,
                         [&](std::int64_t at, std::int64_t place, std::int64_t first,
                             std::int64_t stop, std::int64_t) {
                           const T* const from = columns + at;
                           for (std::int64_t i = first; i < stop; ++i) {
                             T& sum = to[place + i * step];
                             sum = add(sum, from[i]);
                           }
                         });
  }
}

}  // namespace opyard::kernels
