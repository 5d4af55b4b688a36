// loops/normalisation.cpp: one pass over the rows of a layer norm, and over the channels of a batch
// norm.
//
// They give the bits of the operators one after the other: means are sums of sums.h, of elements
// and of the squares of what they are from their mean, each rounded once. A row stays in the first
// cache meanwhile.
#include "loops/normalisation.h"

#include <algorithm>
#include <cmath>

#include "loops/kinds.h"
#include "loops/sums.h"

namespace opyard::kernels {
namespace {

template <typename T>
T mean_of(const T* row, std::int64_t length) {
  return element_of_sum<T>(sum_row(row, length), double(length));
}

template <typename T>
void normalise_rows(const RowNorm<T>& n, std::int64_t first_row, std::int64_t last_row) {
  for (std::int64_t row = first_row; row < last_row; ++row) {
    const T* const from = n.from + row * n.length;
    T* const to = n.to + row * n.length;
    const T mean = mean_of(from, n.length);
    OPYARD_IVDEP
    for (std::int64_t i = 0; i < n.length; ++i) {
      const T apart = from[i] - mean;
      to[i] = apart;
      n.squares[i] = apart * apart;
    }
    const T scale = T(1) / std::sqrt(mean_of<T>(n.squares, n.length) + T(n.eps));
    n.mean[row] = mean;
    n.scale[row] = scale;
    OPYARD_IVDEP
    for (std::int64_t i = 0; i < n.length; ++i) to[i] = to[i] * scale * n.weight[i] + n.bias[i];
  }
}

template <typename T>
void normalise_lines(const ChannelNorm<T>& n, std::int64_t first_line, std::int64_t last_line) {
  if (n.length > 1) {
    for (std::int64_t line = first_line; line < last_line; ++line) {
      const std::int64_t channel = line % n.channels;
      const T mean = n.mean[channel], scale = n.scale[channel];
      const T weight = n.weight[channel], bias = n.bias[channel];
      const T* const from = n.from + line * n.length;
      T* const to = n.to + line * n.length;
      OPYARD_IVDEP
      for (std::int64_t i = 0; i < n.length; ++i) to[i] = (from[i] - mean) * scale * weight + bias;
    }
    return;
  }
  // Channels are next to each other.
  for (std::int64_t line = first_line; line < last_line;) {
    const std::int64_t channel = line % n.channels;
    const std::int64_t count = std::min(n.channels - channel, last_line - line);
    const T *const mean = n.mean + channel, *const scale = n.scale + channel;
    const T *const weight = n.weight + channel, *const bias = n.bias + channel;
    OPYARD_IVDEP
    for (std::int64_t i = 0; i < count; ++i) {
      n.to[line + i] = (n.from[line + i] - mean[i]) * scale[i] * weight[i] + bias[i];
    }
    line += count;
  }
}

}  // namespace

constexpr NormalisationLoops kNormalisation = {.rows_float32 = &normalise_rows<float>,
                                               .rows_float64 = &normalise_rows<double>,
                                               .channels_float32 = &normalise_lines<float>,
                                               .channels_float64 = &normalise_lines<double>};

}  // namespace opyard::kernels
