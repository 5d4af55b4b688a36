// loops/sums.h: the sum of a row, in an order that is fixed.
//
// [Order of summation] A row is cut into blocks of 512 elements. In a block, 32 running sums take
// the elements in turn, and the upper half of them is added to the lower until one is left; the
// blocks are added in pairs, the left half of them with the right. So the same elements give the
// same bits wherever they lie and in every build, and the error grows with the logarithm of their
// number. float32 is summed in float64 and rounded once; integers wrap.
//
// Depends on: nothing.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

// A vector in registers of another build's width: it is not handed from function to function.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace opyard::kernels {

// What elements of T are summed in.
template <typename T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

inline constexpr std::int64_t kSumBlock = 512;
inline constexpr int kSumLanes = 32;

// Where the left one of two parts of a row ends that is longer than a block.
constexpr std::int64_t cut_sum(std::int64_t length) {
  const std::int64_t blocks = (length + kSumBlock - 1) / kSumBlock;
  return (blocks + 1) / 2 * kSumBlock;
}

// The lanes of a block, the upper half to the lower.
template <typename S>
S join_lanes(S* lanes) {
  for (int width = kSumLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

// What a block of at most 16 elements gives, of whose lanes the upper half has nothing.
template <typename T>
SumOf<T> sum_few(const T* row, std::int64_t length) {
  using S = SumOf<T>;
  S lanes[kSumLanes / 2] = {};
  for (std::int64_t i = 0; i < length; ++i) lanes[i] += S(row[i]);
  for (int width = kSumLanes / 4; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

template <typename T>
SumOf<T> sum_block(const T* row, std::int64_t length) {
  using S = SumOf<T>;
  if (length <= kSumLanes / 2) return sum_few(row, length);
  using Wide [[gnu::vector_size(64)]] = S;
  using Narrow [[gnu::vector_size(8 * sizeof(T))]] = T;
  Wide sums[4] = {};
  std::int64_t i = 0;
  const auto take = [&sums](const T* from) {
    for (int k = 0; k < 4; ++k) {
      Narrow eight;
      std::memcpy(&eight, from + 8 * k, sizeof(eight));
      sums[k] += __builtin_convertvector(eight, Wide);
    }
  };
  for (; i + kSumLanes <= length; i += kSumLanes) take(row + i);
  if (i < length) {
    T rest[kSumLanes] = {};
    std::memcpy(rest, row + i, std::size_t(length - i) * sizeof(T));
    take(rest);
  }
  S lanes[kSumLanes];
  std::memcpy(lanes, sums, sizeof(lanes));
  return join_lanes(lanes);
}

// See [Order of summation].
template <typename T>
SumOf<T> sum_row(const T* row, std::int64_t length) {
  if (length <= kSumBlock) return sum_block(row, length);
  const std::int64_t left = cut_sum(length);
  return sum_row(row, left) + sum_row(row + left, length - left);
}

}  // namespace opyard::kernels
