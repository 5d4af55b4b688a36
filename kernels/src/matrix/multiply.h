// kernels/matrix/multiply.h: a product of matrices by one thread, added to a part of a larger one.
//
// For kernels that cut their work themselves: batches and convolutions.
//
// Depends on: common/builds.h, loops/matrix.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "common/builds.h"
#include "loops/matrix.h"

namespace opyard::kernels {

namespace detail {

// For products that fill no block of the build's loops. The elements of a row of the result, or of
// a column of b, are next to each other.
template <typename T>
void multiply_plainly(T* out, std::int64_t out_stride, const Matrix<T>& a, const Matrix<T>& b) {
  using Word = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    const T* const left = a.data + i * a.row_stride;
    T* const to = out + i * out_stride;
    if (b.column_stride == 1) {
      for (std::int64_t k = 0; k < a.columns; ++k) {
        const auto x = Word(left[k * a.column_stride]);
        const T* const right = b.data + k * b.row_stride;
        OPYARD_IVDEP
        for (std::int64_t j = 0; j < b.columns; ++j) to[j] = T(Word(to[j]) + x * Word(right[j]));
      }
      continue;
    }
    for (std::int64_t j = 0; j < b.columns; ++j) {
      const T* const right = b.data + j * b.column_stride;
      constexpr int kLanes = 8;
      Word sums[kLanes] = {};
      for (std::int64_t k = 0; k < a.columns; ++k) {
        sums[k % kLanes] += Word(left[k * a.column_stride]) * Word(right[k * b.row_stride]);
      }
      Word sum = 0;
      for (const Word lane : sums) sum += lane;
      to[j] = T(Word(to[j]) + sum);
    }
  }
}

}  // namespace detail

// out += a * b, where out has `out_stride` elements from row to row and is apart from both.
template <typename T>
void multiply_add(T* out, std::int64_t out_stride, const Matrix<T>& a, const Matrix<T>& b) {
  if (a.rows == 0 || a.columns == 0 || b.columns == 0) return;
  constexpr std::int64_t kFewRows = 4;
  if constexpr (std::is_same_v<T, float>) {
    if (a.rows >= kFewRows) return loops().products.float32(out, out_stride, a, b, 1);
  } else if constexpr (std::is_same_v<T, double>) {
    if (a.rows >= kFewRows) return loops().products.float64(out, out_stride, a, b, 1);
  }
  detail::multiply_plainly(out, out_stride, a, b);
}

}  // namespace opyard::kernels
