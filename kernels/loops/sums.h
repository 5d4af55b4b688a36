// loops/sums.h: the sum of a row, in an order that is fixed.
//
// [Order of summation] A row is cut into blocks of 512 elements, and a block into groups of 64. Of
// a group, the elements i, i + 16, i + 32 and i + 48 are added, in pairs, and their sum goes to the
// i-th of 16 running sums; at the end of the block the upper half of these is added to the lower
// until one is left. Blocks are added in pairs, the left half of them with the right. So the same
// elements give the same bits wherever they lie and in every build, and the error grows with the
// logarithm of their number. float32 is summed in float64 and rounded once, but for the four of a
// group, which are added in float32: converting each of them took half of the time of a row
// (512 rows of 512: 42 us by AVX2, 17 so). Integers wrap.
//
// Depends on: nothing.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace opyard::kernels {

// Of the build's registers. GCC takes vectors of another width apart element by element.
#if defined(__AVX512F__)
inline constexpr int kRegisterBytes = 64;
#elif defined(__AVX__)
inline constexpr int kRegisterBytes = 32;
#else
inline constexpr int kRegisterBytes = 16;
#endif

// What elements of T are summed in.
template <typename T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

// And what the four elements of a group are added in.
template <typename T>
using AddedIn = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;

inline constexpr std::int64_t kSumBlock = 512;
inline constexpr int kSumLanes = 16;
inline constexpr int kSumGroup = 4 * kSumLanes;

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

// What a block of at most 16 elements gives, each of which is alone in its group.
template <typename T>
SumOf<T> sum_few(const T* row, std::int64_t length) {
  using S = SumOf<T>;
  S lanes[kSumLanes] = {};
  for (std::int64_t i = 0; i < length; ++i) lanes[i] += S(row[i]);
  return join_lanes(lanes);
}

// Registers of a build: of elements, of sums, and what of the first one of the second holds.
template <typename T>
struct Registers {
  using Added [[gnu::vector_size(kRegisterBytes)]] = AddedIn<T>;
  using Sums [[gnu::vector_size(kRegisterBytes)]] = SumOf<T>;
  using Part [[gnu::vector_size(kRegisterBytes / sizeof(SumOf<T>) * sizeof(T))]] = AddedIn<T>;

  static Added load(const T* from) {
    Added some;
    std::memcpy(&some, from, sizeof(some));
    return some;
  }
  // GCC takes twice as many instructions for a float that is in a register already.
  static Sums widened(const Part& part) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<T, float>) return Sums(_mm512_cvtps_pd(__m256(part)));
#elif defined(__AVX__)
    if constexpr (std::is_same_v<T, float>) return Sums(_mm256_cvtps_pd(__m128(part)));
#endif
    return __builtin_convertvector(part, Sums);
  }
};

// As join_lanes(), without a way through memory, which took a third of the time of a row.
template <typename S, typename Sums, int count>
S join_registers(const Sums (&r)[count]) {
  static_assert(count == 2 || count == 4 || count == 8);
  Sums l;
  if constexpr (count == 8) {
    l = ((r[0] + r[4]) + (r[2] + r[6])) + ((r[1] + r[5]) + (r[3] + r[7]));
    return l[0] + l[1];
  } else if constexpr (count == 4) {
    l = (r[0] + r[2]) + (r[1] + r[3]);
    return (l[0] + l[2]) + (l[1] + l[3]);
  } else {
    l = r[0] + r[1];
    return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
  }
}

template <typename T>
SumOf<T> sum_block(const T* row, std::int64_t length) {
  if (length <= kSumLanes) return sum_few(row, length);
  using R = Registers<T>;
  constexpr int kStep = kRegisterBytes / int(sizeof(T)), kSteps = kSumLanes / kStep;
  constexpr int kParts = int(sizeof(typename R::Added) / sizeof(typename R::Part));
  typename R::Sums sums[kSteps * kParts] = {};
  const auto add = [&sums]<int step>(const T* from, std::integral_constant<int, step>) {
    const T* const at = from + step * kStep;
    const typename R::Added four = (R::load(at) + R::load(at + kSumLanes)) +
                                   (R::load(at + 2 * kSumLanes) + R::load(at + 3 * kSumLanes));
    typename R::Part parts[kParts];
    std::memcpy(parts, &four, sizeof(four));
    for (int k = 0; k < kParts; ++k) sums[step * kParts + k] += R::widened(parts[k]);
  };
  // Without a loop, so that the sums stay in registers.
  const auto take = [&add](const T* from) {
    [&]<int... step>(std::integer_sequence<int, step...>) {
      (add(from, std::integral_constant<int, step>()), ...);
    }(std::make_integer_sequence<int, kSteps>());
  };
  std::int64_t i = 0;
  for (; i + kSumGroup <= length; i += kSumGroup) take(row + i);
  if (i < length) {
    T rest[kSumGroup] = {};
    std::memcpy(rest, row + i, std::size_t(length - i) * sizeof(T));
    take(rest);
  }
  return join_registers<SumOf<T>>(sums);
}

// See [Order of summation].
template <typename T>
SumOf<T> sum_row(const T* row, std::int64_t length) {
  if (length <= kSumBlock) return sum_block(row, length);
  const std::int64_t left = cut_sum(length);
  return sum_row(row, left) + sum_row(row + left, length - left);
}

// The element that a sum is, or a mean if `divisor` is not 0.
template <typename T>
T element_of_sum(SumOf<T> total, double divisor) {
  if constexpr (std::is_floating_point_v<T>) {
    return T(divisor == 0 ? total : total / divisor);
  } else {
    return T(total);
  }
}

}  // namespace opyard::kernels
