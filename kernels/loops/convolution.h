// loops/convolution.h: a direct convolution of a strip: a few lines of one image's result.
//
// The channels of the image have been copied into planes, padded and split by what a place is
// modulo the stride. So the places of the result, line after line with the planes' pitch, meet each
// weight in a row of neighbours:
//
//   result[channel][place] = bias[channel] + sum of weight[channel][k] * planes[offsets[k] + place]
//
// What is stored is that, or more of it: the sum with `added`, where that is not null, between
// `least` and `most`; nan stays.
//
// What is computed at the end of a line, beyond its `wide` places, is left out of the result.
//
// Depends on: nothing.
#pragma once

#include <cstdint>

namespace opyard::kernels {

template <typename T>
struct Strip {
  const T* planes;  // kPastPlanes elements may be read behind the last place
  const std::int64_t* offsets;
  std::int64_t depth;  // how many weights a channel has
  std::int64_t lines, pitch, wide;
  const T* weight;  // of each channel, one behind the other
  const T* bias;    // null for none
  std::int64_t channels;
  T* result;  // lines without gaps
  std::int64_t channel_stride;
  T* room;         // kStripRoom elements
  const T* added;  // with the strides of the result
  T least, most;
};

template <typename T>
using StripLoop = void (*)(const Strip<T>&);

inline constexpr std::int64_t kPastPlanes = 16;
// How many places and channels are kept at once until all of their weights were met.
inline constexpr std::int64_t kKeptPlaces = 192, kKeptChannels = 64;
inline constexpr std::int64_t kStripRoom = kKeptChannels * (kKeptPlaces + kPastPlanes);

}  // namespace opyard::kernels
