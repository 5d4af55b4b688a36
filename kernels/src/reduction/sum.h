// kernels/reduction/sum.h: the sum of a row, in an order that is fixed.
//
// [Order of summation] A row is cut into blocks of 128 elements. In a block, eight running sums
// take the elements in turn and are added in pairs; the blocks are added in pairs, the left half
// of them with the right. So the same elements give the same bits wherever they lie, and the
// error grows with the logarithm of their number. float32 is summed in float64 and rounded
// once; integers wrap.
//
// Depends on: opyard/tensor.h.
#pragma once

#include <cstdint>
#include <type_traits>

namespace opyard::kernels {

// What elements of T are summed in.
template <typename T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

template <typename T>
SumOf<T> sum_block(const T* row, std::int64_t length) {
  SumOf<T> lanes[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= length; i += 8) {
    for (int lane = 0; lane < 8; ++lane) lanes[lane] += SumOf<T>(row[i + lane]);
  }
  for (; i < length; ++i) lanes[i & 7] += SumOf<T>(row[i]);
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

// See [Order of summation].
template <typename T>
SumOf<T> sum_row(const T* row, std::int64_t length) {
  constexpr std::int64_t kBlock = 128;
  if (length <= kBlock) return sum_block(row, length);
  const std::int64_t blocks = (length + kBlock - 1) / kBlock;
  const std::int64_t left = (blocks + 1) / 2 * kBlock;
  return sum_row(row, left) + sum_row(row + left, length - left);
}

}  // namespace opyard::kernels
