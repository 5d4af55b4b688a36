// loops/sums.cpp: sums and means of rows; see sums.h [Order of summation].
#include "loops/sums.h"

#include <algorithm>

#include "loops/kinds.h"

namespace opyard::kernels {
namespace {

template <typename T>
void write(const SumContext& context, std::int64_t position, SumOf<T> total) {
  static_cast<T*>(context.out)[position] = element_of_sum<T>(total, context.divisor);
}

template <typename T>
void sum_of_row(const std::byte* row, std::int64_t length, std::int64_t position, void* context) {
  write<T>(*static_cast<const SumContext*>(context), position,
           sum_row(reinterpret_cast<const T*>(row), length));
}

template <typename T>
void sum_of_piece(const std::byte* row, std::int64_t length, void* total) {
  const SumOf<T> sum = sum_row(reinterpret_cast<const T*>(row), length);
  std::memcpy(total, &sum, sizeof(sum));
}

// The running sums of a block of up to sixteen rows that are side by side.
template <typename T, int width>
void sum_blocks(const std::byte* first, std::int64_t length, std::int64_t step, SumOf<T>* totals) {
  using S = SumOf<T>;
  using Added = AddedIn<T>;
  S lanes[kSumLanes][width] = {};
  const auto row = [&](std::int64_t i) { return reinterpret_cast<const T*>(first + i * step); };
  std::int64_t begin = 0;
  for (; begin + kSumGroup <= length; begin += kSumGroup) {
    for (int lane = 0; lane < kSumLanes; ++lane) {
      const T* const a = row(begin + lane);
      const T* const b = row(begin + lane + kSumLanes);
      const T* const c = row(begin + lane + 2 * kSumLanes);
      const T* const d = row(begin + lane + 3 * kSumLanes);
      for (int k = 0; k < width; ++k) {
        lanes[lane][k] += S((Added(a[k]) + Added(b[k])) + (Added(c[k]) + Added(d[k])));
      }
    }
  }
  for (int lane = 0; lane < kSumLanes && begin + lane < length; ++lane) {
    Added pairs[2][width] = {};
    for (std::int64_t i = begin + lane; i < length; i += kSumLanes) {
      Added* const pair = pairs[(i - begin) / (2 * kSumLanes)];
      for (int k = 0; k < width; ++k) pair[k] += Added(row(i)[k]);
    }
    for (int k = 0; k < width; ++k) lanes[lane][k] += S(pairs[0][k] + pairs[1][k]);
  }
  for (int half = kSumLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) {
      for (int k = 0; k < width; ++k) lanes[lane][k] += lanes[lane + half][k];
    }
  }
  for (int k = 0; k < width; ++k) totals[k] = lanes[0][k];
}

template <typename T, int width>
void sum_side_by_side(const std::byte* first, std::int64_t length, std::int64_t step,
                      SumOf<T>* totals) {
  if (length <= kSumBlock) return sum_blocks<T, width>(first, length, step, totals);
  const std::int64_t left = cut_sum(length);
  SumOf<T> right[width];
  sum_side_by_side<T, width>(first, left, step, totals);
  sum_side_by_side<T, width>(first + left * step, length - left, step, right);
  for (int k = 0; k < width; ++k) totals[k] += right[k];
}

template <typename T>
void sum_of_columns(const std::byte* first, std::int64_t length, std::int64_t step,
                    std::int64_t rows, std::int64_t position, void* context) {
  constexpr int kWidth = int(kMostColumns);
  const auto& to = *static_cast<const SumContext*>(context);
  SumOf<T> totals[kWidth];
  std::int64_t i = 0;
  if (rows == kWidth) {
    sum_side_by_side<T, kWidth>(first, length, step, totals);
    for (; i < rows; ++i) write<T>(to, position + i, totals[i]);
  }
  for (; i < rows; ++i) {
    sum_side_by_side<T, 1>(first + i * std::int64_t(sizeof(T)), length, step, totals);
    write<T>(to, position + i, totals[0]);
  }
}

template <typename T>
constexpr Rows kSumRows = {&sum_of_row<T>, &sum_of_columns<T>};

}  // namespace

constexpr SumLoops kSums = {
    .sum = {{Rows{}, kSumRows<std::int64_t>, kSumRows<float>, kSumRows<double>}},
    .pieces = {nullptr, &sum_of_piece<std::int64_t>, &sum_of_piece<float>, &sum_of_piece<double>},
};

}  // namespace opyard::kernels
