// kernels/matrix/product_eigen.h: products of float matrices by Eigen; for product_<dtype>.cpp
// only.
//
// Eigen's product wants one of the two strides to be 1 and known when it is compiled, so there
// are four forms; each dtype is compiled in a file of its own, since this is the most expensive
// template of the library (5 s a file, -O3).
//
// Depends on: matrix/product.h, Eigen.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "matrix/product.h"

namespace opyard::kernels::detail {

template <typename T, int order>
using Map = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, order>, 0,
                       Eigen::OuterStride<>>;

// Calls body with a map of the matrix.
template <typename T, typename Body>
void with_map(const Matrix<T>& m, Body&& body) {
  using Stride = Eigen::OuterStride<>;
  // A matrix of one row or column has a stride that no element uses.
  const bool row_major = m.column_stride == 1 || m.columns == 1;
  const bool column_major = m.row_stride == 1 || m.rows == 1;
  const std::int64_t row_stride = m.rows == 1 ? m.columns : m.row_stride;
  const std::int64_t column_stride = m.columns == 1 ? m.rows : m.column_stride;
  if (row_major && row_stride >= m.columns) {
    body(Map<T, Eigen::RowMajor>(m.data, m.rows, m.columns, Stride(row_stride)));
  } else if (column_major && column_stride >= m.rows) {
    body(Map<T, Eigen::ColMajor>(m.data, m.rows, m.columns, Stride(column_stride)));
  } else {
    std::vector<T> copy(std::size_t(m.rows * m.columns));
    for (std::int64_t i = 0; i < m.rows; ++i) {
      for (std::int64_t j = 0; j < m.columns; ++j) {
        copy[std::size_t(i * m.columns + j)] = m.data[i * m.row_stride + j * m.column_stride];
      }
    }
    body(Map<T, Eigen::RowMajor>(copy.data(), m.rows, m.columns, Stride(m.columns)));
  }
}

// The elements next to each other: as they are, or copied to `room`.
template <typename T>
const T* as_vector(const T* from, std::int64_t stride, std::int64_t count, std::vector<T>& room) {
  if (stride == 1 || count == 1) return from;
  room.resize(std::size_t(count));
  for (std::int64_t i = 0; i < count; ++i) room[std::size_t(i)] = from[i * stride];
  return room.data();
}

// The product of a row and a column, in an order that their strides do not change.
template <typename T>
T dot_product(const Matrix<T>& a, const Matrix<T>& b) {
  using Vector = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>>;
  std::vector<T> left, right;
  const Vector x(as_vector(a.data, a.column_stride, a.columns, left), a.columns);
  const Vector y(as_vector(b.data, b.row_stride, b.rows, right), b.rows);
  return x.dot(y);
}

template <typename T>
void add_product(T* out, const Matrix<T>& a, const Matrix<T>& b, T factor) {
  if (a.rows == 0 || b.columns == 0 || a.columns == 0) return;
  if (a.rows == 1 && b.columns == 1) {
    *out += factor * dot_product(a, b);
    return;
  }
  using Result = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<Result> result(out, a.rows, b.columns);
  with_map(a, [&](const auto& left) {
    with_map(b, [&](const auto& right) { result.noalias() += factor * left * right; });
  });
}

}  // namespace opyard::kernels::detail
