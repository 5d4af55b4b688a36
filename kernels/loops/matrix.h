// loops/matrix.h: a strided matrix: first element, sizes, strides.
//
// A transposed view is a matrix like any other.
//
// Depends on: nothing.
#pragma once

#include <cstdint>

namespace opyard::kernels {

template <typename T>
struct Matrix {
  const T* data;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;  // in elements, as is
  std::int64_t column_stride;
};

// out += factor * a * b, where out is row-major with `out_stride` elements from row to row, and
// apart from both. a.columns == b.rows.
template <typename T>
using ProductLoop = void (*)(T* out, std::int64_t out_stride, const Matrix<T>& a,
                             const Matrix<T>& b, T factor);

}  // namespace opyard::kernels
