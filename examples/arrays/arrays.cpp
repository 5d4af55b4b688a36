// arrays.cpp: kernels for float32 in rows, which know nothing of NumPy, PyTorch or Python.
//
//   arrays::scaled_add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor
//   arrays::clip_(Tensor(a!) x, float low, float high) -> Tensor(a!)
//   arrays::softmax(Tensor x) -> Tensor                 along the last dimension
//   arrays::moments(Tensor x) -> (Tensor, Tensor)       mean and variance along the last dimension
//   arrays::rows(Tensor(a) x) -> Tensor(a)[]            views, one for each row
//
// Depends on: opyard/library.h.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "opyard/library.h"

namespace {

using opyard::DType;
using opyard::ErrorKind;
using opyard::IntSpan;
using opyard::Tensor;

// Rows that are one after the other: where they begin, how many there are and how long each is.
struct Rows {
  std::int64_t count;
  std::int64_t length;
};

Rows require_rows(const Tensor& x, const char* what) {
  if (x.dtype() != DType::Float32 || x.dim() < 1 || !x.is_contiguous()) {
    opyard::fail(
        ErrorKind::BadValue,
        std::string(what) + " takes contiguous rows of float32, not " + opyard::describe(x));
  }
  const std::int64_t length = x.size(-1);
  return {length == 0 ? 0 : x.numel() / length, length};
}

Tensor empty_like(const Tensor& x) { return Tensor::empty(x.sizes(), x.dtype()); }

Tensor scaled_add(const Tensor& x, const Tensor& y, double alpha) {
  require_rows(x, "scaled_add");
  require_rows(y, "scaled_add");
  if (!std::ranges::equal(x.sizes(), y.sizes())) {
    opyard::fail(ErrorKind::BadShape, "scaled_add takes two arrays of one shape, not " +
                                          opyard::describe(x) + " and " + opyard::describe(y));
  }
  const Tensor sum = empty_like(x);
  std::transform(x.data<float>(), x.data<float>() + x.numel(), y.data<float>(),
                 sum.mutable_data<float>(),
                 [factor = float(alpha)](float a, float b) { return a + factor * b; });
  return sum;
}

Tensor clip(const Tensor& x, double low, double high) {
  require_rows(x, "clip_");
  float* const begin = x.mutable_data<float>();  // refuses memory that is read-only
  std::for_each(begin, begin + x.numel(),
                [&](float& a) { a = std::min(std::max(a, float(low)), float(high)); });
  return x;
}

Tensor softmax(const Tensor& x) {
  const Rows rows = require_rows(x, "softmax");
  const Tensor result = empty_like(x);
  const float* from = x.data<float>();
  float* to = result.mutable_data<float>();
  for (std::int64_t i = 0; i < rows.count; ++i, from += rows.length, to += rows.length) {
    const float highest = *std::max_element(from, from + rows.length);
    float sum = 0;
    for (std::int64_t j = 0; j < rows.length; ++j) sum += to[j] = std::exp(from[j] - highest);
    for (std::int64_t j = 0; j < rows.length; ++j) to[j] /= sum;
  }
  return result;
}

std::tuple<Tensor, Tensor> moments(const Tensor& x) {
  const Rows rows = require_rows(x, "moments");
  const IntSpan sizes = x.sizes().first(x.sizes().size() - 1);
  const Tensor means = Tensor::empty(sizes, x.dtype());
  const Tensor variances = Tensor::empty(sizes, x.dtype());
  const float* row = x.data<float>();
  for (std::int64_t i = 0; i < rows.count; ++i, row += rows.length) {
    double sum = 0, squares = 0;
    for (std::int64_t j = 0; j < rows.length; ++j) sum += row[j];
    const double mean = sum / double(rows.length);
    for (std::int64_t j = 0; j < rows.length; ++j) squares += (row[j] - mean) * (row[j] - mean);
    means.mutable_data<float>()[i] = float(mean);
    variances.mutable_data<float>()[i] = float(squares / double(rows.length));
  }
  return {means, variances};
}

std::vector<Tensor> split_rows(const Tensor& x) {
  const Rows rows = require_rows(x, "rows");
  std::vector<Tensor> views;
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const std::int64_t sizes[] = {rows.length};
    const std::int64_t strides[] = {1};
    views.push_back(x.as_strided(sizes, strides, x.storage_offset() + i * rows.length));
  }
  return views;
}

OPYARD_LIBRARY(arrays, m) {
  m.def("scaled_add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor");
  m.def("clip_(Tensor(a!) x, float low, float high) -> Tensor(a!)");
  m.def("softmax(Tensor x) -> Tensor");
  m.def("moments(Tensor x) -> (Tensor, Tensor)");
  m.def("rows(Tensor(a) x) -> Tensor(a)[]");
  m.impl("scaled_add", opyard::DispatchKey::CPU, &scaled_add);
  m.impl("clip_", opyard::DispatchKey::CPU, &clip);
  m.impl("softmax", opyard::DispatchKey::CPU, &softmax);
  m.impl("moments", opyard::DispatchKey::CPU, &moments);
  m.impl("rows", opyard::DispatchKey::CPU, &split_rows);
}

}  // namespace
