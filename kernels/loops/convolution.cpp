// loops/convolution.cpp: direct convolution of strips, blocked for registers.
//
// A tile is a few channels by a few packets of places, whose sums stay in registers while kTerms
// weights are met.
//
// [Order] Every sum begins at 0, takes kTerms products in their order, and is added to the bias and
// the sums before it. So the bits of an element depend neither on its tile nor on how strips are
// cut.
//
// Weights are read as they lie, each as often as there are groups of kKeptPlaces places.
#include "loops/convolution.h"

#include <algorithm>

#include "loops/kinds.h"
#include "loops/packet_loops.h"

namespace opyard::kernels {
namespace {

// Channels of a tile, and packets of its places: fewer of the former leave room for more of these.
#if defined(__AVX512F__)
constexpr int kTileChannels = 8, kTilePackets = 3, kNarrowTilePackets = 6;
#elif defined(__AVX__)
constexpr int kTileChannels = 4, kTilePackets = 3, kNarrowTilePackets = 6;
#else
constexpr int kTileChannels = 4, kTilePackets = 2, kNarrowTilePackets = 4;
#endif
constexpr std::int64_t kTerms = 192;

template <typename T>
constexpr int kWide = Eigen::internal::unpacket_traits<PacketOf<T>>::size;

// What a tile adds to: places of the room, of which the first channel begins at `to`; or, for the
// first terms, a number for each channel.
template <typename T>
struct TileResult {
  T* to;
  std::int64_t stride;
  const T* starts;  // null after the first terms
};

template <typename T, int channels, int packets>
[[gnu::noinline]] void add_tile(const T* from, const std::int64_t* offsets, std::int64_t terms,
                                const T* weight, std::int64_t weight_stride,
                                const TileResult<T>& result) {
  using namespace Eigen::internal;
  using Packet = PacketOf<T>;
  Packet sums[channels][packets];
  OPYARD_UNROLL
  for (int i = 0; i < channels; ++i) {
    for (int j = 0; j < packets; ++j) sums[i][j] = packets::constant<Packet>(0);
  }
  for (std::int64_t k = 0; k < terms; ++k) {
    const T* const line = from + offsets[k];
    if constexpr (channels < packets) {
      Packet factors[channels];
      for (int i = 0; i < channels; ++i) {
        factors[i] = packets::constant<Packet>(weight[i * weight_stride + k]);
      }
      for (int j = 0; j < packets; ++j) {
        const Packet x = ploadu<Packet>(line + j * kWide<T>);
        for (int i = 0; i < channels; ++i) sums[i][j] = pmadd(factors[i], x, sums[i][j]);
      }
    } else {
      Packet x[packets];
      for (int j = 0; j < packets; ++j) x[j] = ploadu<Packet>(line + j * kWide<T>);
      for (int i = 0; i < channels; ++i) {
        const Packet factor = packets::constant<Packet>(weight[i * weight_stride + k]);
        for (int j = 0; j < packets; ++j) sums[i][j] = pmadd(factor, x[j], sums[i][j]);
      }
    }
  }
  if (result.starts != nullptr) {
    OPYARD_UNROLL
    for (int i = 0; i < channels; ++i) {
      const Packet start = packets::constant<Packet>(result.starts[i]);
      T* const to = result.to + i * result.stride;
      for (int j = 0; j < packets; ++j) pstoreu(to + j * kWide<T>, padd(start, sums[i][j]));
    }
    return;
  }
  OPYARD_UNROLL
  for (int i = 0; i < channels; ++i) {
    T* const to = result.to + i * result.stride;
    for (int j = 0; j < packets; ++j) {
      pstoreu(to + j * kWide<T>, padd(ploadu<Packet>(to + j * kWide<T>), sums[i][j]));
    }
  }
}

// Tiles side by side over `count` packets of places, the last ones narrower.
template <typename T, int channels, int packets>
void add_tiles(std::int64_t count, const T* from, const std::int64_t* offsets, std::int64_t terms,
               const T* weight, std::int64_t weight_stride, TileResult<T> result) {
  for (; count >= packets; count -= packets) {
    add_tile<T, channels, packets>(from, offsets, terms, weight, weight_stride, result);
    from += packets * kWide<T>;
    result.to += packets * kWide<T>;
  }
  if constexpr (packets > 1) {
    constexpr int kNext = packets > 3 ? 3 : packets - 1;
    if (count == 0) return;
    add_tiles<T, channels, kNext>(count, from, offsets, terms, weight, weight_stride, result);
  }
}

// The channels from `channels` at most down to the last one.
template <typename T, int channels>
void add_channels(std::int64_t left, std::int64_t count, const T* from, const std::int64_t* offsets,
                  std::int64_t terms, const T* weight, std::int64_t weight_stride,
                  TileResult<T> result) {
  constexpr int kPackets = channels == kTileChannels ? kTilePackets : kNarrowTilePackets;
  for (; left >= channels; left -= channels) {
    add_tiles<T, channels, kPackets>(count, from, offsets, terms, weight, weight_stride, result);
    weight += channels * weight_stride;
    result.to += channels * result.stride;
    if (result.starts != nullptr) result.starts += channels;
  }
  if constexpr (channels > 1) {
    if (left == 0) return;
    add_channels<T, channels / 2>(left, count, from, offsets, terms, weight, weight_stride, result);
  }
}

template <typename T>
void store(const T* from, std::int64_t count, const T* added, T least, T most, T* to) {
  const auto between = [&](T x) {
    x = x < least ? least : x;
    return x > most ? most : x;
  };
  if (added == nullptr) {
    OPYARD_IVDEP
    for (std::int64_t i = 0; i < count; ++i) to[i] = between(from[i]);
  } else {
    OPYARD_IVDEP
    for (std::int64_t i = 0; i < count; ++i) to[i] = between(from[i] + added[i]);
  }
}

// Stores what belongs to lines of the room, where places begin with the strip's `first`.
template <typename T>
void write_places(const Strip<T>& s, std::int64_t first, std::int64_t count, std::int64_t channel,
                  std::int64_t channels, std::int64_t stride) {
  for (std::int64_t place = first; place < first + count;) {
    const std::int64_t line = place / s.pitch, column = place % s.pitch;
    const std::int64_t here = std::min(first + count - place, s.pitch - column);
    const std::int64_t wanted = std::min(here, s.wide - column);
    const T* from = s.room + (place - first);
    std::int64_t at = channel * s.channel_stride + line * s.wide + column;
    for (std::int64_t i = 0; i < channels && wanted > 0; ++i) {
      store(from, wanted, s.added == nullptr ? nullptr : s.added + at, s.least, s.most,
            s.result + at);
      from += stride;
      at += s.channel_stride;
    }
    place += here;
  }
}

template <typename T>
void convolve_strip(const Strip<T>& s) {
  const std::int64_t places = (s.lines - 1) * s.pitch + s.wide;
  constexpr std::int64_t kStride = kKeptPlaces + kPastPlanes;
  static constexpr T zeros[kKeptChannels] = {};
  for (std::int64_t channel = 0; channel < s.channels; channel += kKeptChannels) {
    const std::int64_t channels = std::min(kKeptChannels, s.channels - channel);
    const T* const starts = s.bias == nullptr ? zeros : s.bias + channel;
    for (std::int64_t first = 0; first < places; first += kKeptPlaces) {
      const std::int64_t count = std::min(kKeptPlaces, places - first);
      std::int64_t k = 0;
      do {
        const std::int64_t terms = std::min(kTerms, s.depth - k);
        add_channels<T, kTileChannels>(channels, (count + kWide<T> - 1) / kWide<T>,
                                       s.planes + first, s.offsets + k, terms,
                                       s.weight + channel * s.depth + k, s.depth,
                                       {s.room, kStride, k == 0 ? starts : nullptr});
        k += terms;
      } while (k < s.depth);
      write_places(s, first, count, channel, channels, kStride);
    }
  }
}

}  // namespace

constexpr ConvolutionLoops kConvolution = {.float32 = &convolve_strip<float>,
                                           .float64 = &convolve_strip<double>};

}  // namespace opyard::kernels
