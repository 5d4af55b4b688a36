// loops/normalisation.h: normalisation of rows and of channels, a piece at a time.
//
// What is computed is, in this order of roundings, ((x - mean) * scale * weight) + bias. Without a
// weight, a loop gets ones; without a bias, -0.0, which leaves every number as it is.
//
// Depends on: nothing.
#pragma once

#include <cstdint>

namespace opyard::kernels {

// Rows of `length` elements, one behind the other, each with its own mean and scale.
template <typename T>
struct RowNorm {
  std::int64_t length;
  const T* weight;  // as many elements
  const T* bias;
  double eps;
  const T* from;
  T* to;
  T* mean;  // results, an element a row
  T* scale;
  T* squares;  // room for a row
};
// Pages of `channels` by `length` elements; the numbers are of a channel.
template <typename T>
struct ChannelNorm {
  std::int64_t channels, length;
  const T* mean;
  const T* scale;
  const T* weight;
  const T* bias;
  const T* from;
  T* to;
};

template <typename T>
using RowNormLoop = void (*)(const RowNorm<T>&, std::int64_t first_row, std::int64_t last_row);
// Of lines, which are page * channels + channel.
template <typename T>
using ChannelNormLoop = void (*)(const ChannelNorm<T>&, std::int64_t first_line,
                                 std::int64_t last_line);

}  // namespace opyard::kernels
