// fastbox.cpp: kernels of detectors and language models, for everybody's arrays.
//
//   fastbox::nms(Tensor boxes, Tensor scores, float iou_threshold) -> Tensor
//     Greedy non-maximum suppression. `boxes` are [n, 4] as x1, y1, x2, y2, `scores` [n] of the
//     same dtype, float32 or float64. From the best score down a box is kept unless it overlaps a
//     kept one by more than the threshold: area of the intersection over area of the union. Equal
//     scores go by index, NaN comes last. The result, int64, is the indices of the kept boxes,
//     best first. How many these are depends on elements, so compilers cannot hold it.
//
//   fastbox::nms_padded(Tensor boxes, Tensor scores, float iou_threshold, int limit)
//       -> (Tensor kept, Tensor count)
//     The same, of a size that is known: `kept` is int64[limit], the best `limit` of what nms
//     gives and -1 behind them, and `count`, int64[], is how many these are.
//
//   fastbox::rotary(Tensor x, Tensor cos, Tensor sin) -> Tensor
//     Rotary position embedding. `x` is [..., positions, 2 * h], `cos` and `sin` [positions, h],
//     all float32 or all float64. With x split into halves a and b along the last dimension the
//     result is [a * cos - b * sin, b * cos + a * sin]: each pair (a, b) turned by the angle of its
//     place. Its gradient turns back: the same with -sin. The tables get no gradient.
//
//   fastbox::int8_matmul(Tensor a, Tensor b, Tensor a_scale, Tensor b_scale) -> Tensor
//     Product of quantised matrices. `a` is int8[m, k], `b` int8[k, n], `a_scale` float32[m] and
//     `b_scale` float32[n]. The result, float32[m, n], is the sum over k of a * b, exact in 32
//     bits, times the scales of row and column. k is at most 131,071: 128 * 128 * 131,071 < 2^31.
//
// Tensors may have any strides. Other dtypes raise NotImplementedError or TypeError, other sizes
// ValueError; each message names the operator, what came and what is needed.
//
// Where the formulas are from: nms as in Girshick et al., "Rich feature hierarchies for accurate
// object detection" (2014), 2.2; rotary: Su et al., "RoFormer" (2021), equation 34, with the pairs
// half a row apart; int8_matmul: Dettmers et al., "LLM.int8()" (2022), equation 5.
//
// Depends on: opyard/kernel.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "opyard/kernel.h"

namespace {

using opyard::accessor;
using opyard::DType;
using opyard::Tensor;

// ---- nms

template <typename T>
T overlap(opyard::Accessor<const T, 1> a, opyard::Accessor<const T, 1> b) {
  const T width = std::min(a(2), b(2)) - std::max(a(0), b(0));
  const T height = std::min(a(3), b(3)) - std::max(a(1), b(1));
  if (!(width > 0 && height > 0)) return 0;
  const T areas = (a(2) - a(0)) * (a(3) - a(1)) + (b(2) - b(0)) * (b(3) - b(1));
  return width * height / (areas - width * height);
}

// The first `limit` of the kept boxes.
template <typename T>
std::vector<std::int64_t> find_kept(const Tensor& boxes, const Tensor& scores, T threshold,
                                    std::size_t limit) {
  const auto box = accessor<const T, 2>(boxes);
  const auto score = accessor<const T, 1>(scores);
  std::vector<std::int64_t> order(std::size_t(score.size(0)));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return score(a) > score(b) || (std::isnan(score(b)) && !std::isnan(score(a)));
  });
  std::vector<std::int64_t> kept;
  for (const std::int64_t next : order) {
    if (kept.size() == limit) break;
    const bool hidden = std::any_of(kept.begin(), kept.end(), [&](std::int64_t better) {
      return overlap(box[better], box[next]) > threshold;
    });
    if (!hidden) kept.push_back(next);
  }
  return kept;
}

void require_boxes(const char* op, const Tensor& boxes, const Tensor& scores) {
  OPYARD_REQUIRE(scores.dtype() == boxes.dtype(), BadArgument, op, ": scores are ", scores,
                 "; the dtype of the boxes is needed, ", boxes.dtype());
  if (opyard::has_symbolic_sizes(boxes) || opyard::has_symbolic_sizes(scores)) return;
  OPYARD_REQUIRE(boxes.dim() == 2 && boxes.size(1) == 4, BadShape, op, ": boxes are ", boxes,
                 "; [n, 4] are needed");
  OPYARD_REQUIRE(scores.dim() == 1 && scores.size(0) == boxes.size(0), BadShape, op,
                 ": scores are ", scores, "; one for each of ", boxes.size(0), " boxes is needed");
}

std::vector<std::int64_t> kept_boxes(const char* op, const Tensor& boxes, const Tensor& scores,
                                     double threshold, std::size_t limit) {
  return opyard::dispatch_dtypes<float, double>(boxes.dtype(), op, [&]<typename T>() {
    return find_kept<T>(boxes, scores, T(threshold), limit);
  });
}

Tensor nms(const Tensor& boxes, const Tensor& scores, double iou_threshold) {
  require_boxes("fastbox::nms", boxes, scores);
  const auto kept = kept_boxes("fastbox::nms", boxes, scores, iou_threshold, ~std::size_t{0});
  const Tensor result = Tensor::empty(std::array{std::int64_t(kept.size())}, DType::Int64);
  std::copy(kept.begin(), kept.end(), result.mutable_data<std::int64_t>());
  return result;
}

std::tuple<Tensor, Tensor> nms_padded(const Tensor& boxes, const Tensor& scores,
                                      double iou_threshold, std::int64_t limit) {
  OPYARD_REQUIRE(limit > 0, BadValue, "fastbox::nms_padded: limit is ", limit,
                 "; 1 or more is needed");
  require_boxes("fastbox::nms_padded", boxes, scores);
  const Tensor result = Tensor::empty(std::array{limit}, DType::Int64, boxes.device());
  const Tensor count = Tensor::empty({}, DType::Int64, boxes.device());
  opyard::fill(result, std::int64_t{-1});
  if (opyard::is_meta(boxes)) return {result, count};
  const auto kept =
      kept_boxes("fastbox::nms_padded", boxes, scores, iou_threshold, std::size_t(limit));
  std::copy(kept.begin(), kept.end(), result.mutable_data<std::int64_t>());
  opyard::fill(count, std::int64_t(kept.size()));
  return {result, count};
}

// ---- rotary

void require_tables(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  OPYARD_REQUIRE(x.dim() >= 2 && x.size(-1) % 2 == 0, BadShape, "fastbox::rotary: x is ", x,
                 "; [..., positions, 2 * h] is needed");
  const std::int64_t positions = x.size(-2), half = x.size(-1) / 2;
  for (const Tensor* const table : {&cos, &sin}) {
    OPYARD_REQUIRE(table->dim() == 2 && table->size(0) == positions && table->size(1) == half,
                   BadShape, "fastbox::rotary: ", table == &cos ? "cos" : "sin", " is ", *table,
                   "; for x, which is ", x, ", [", positions, ", ", half, "] is needed");
  }
}

template <typename T>
void turn(const Tensor& result, const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const std::int64_t half = x.size(-1) / 2;
  const Tensor a = x.narrow(-1, 0, half), b = x.narrow(-1, half, half);
  opyard::transform(
      result.narrow(-1, 0, half), [](T a, T b, T c, T s) { return a * c - b * s; }, a, b, cos, sin);
  opyard::transform(
      result.narrow(-1, half, half), [](T a, T b, T c, T s) { return b * c + a * s; }, a, b, cos,
      sin);
}

Tensor rotary(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const Tensor result = opyard::empty_like(x);
  // A compiler asks with sizes that are no numbers yet: those are checked when the call comes.
  for (const Tensor* const each : {&x, &cos, &sin}) {
    if (opyard::has_symbolic_sizes(*each)) return result;
  }
  require_tables(x, cos, sin);
  opyard::dispatch_dtypes<float, double>(x.dtype(), "fastbox::rotary",
                                         [&]<typename T>() { turn<T>(result, x, cos, sin); });
  return result;
}

// ---- int8_matmul

constexpr std::int64_t kLongest = 131'071;  // products of 128 * 128 whose sum fits 32 bits

void require_factors(const Tensor& a, const Tensor& b, const Tensor& a_scale,
                     const Tensor& b_scale) {
  OPYARD_REQUIRE(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0), BadShape,
                 "fastbox::int8_matmul: a is ", a, " and b is ", b,
                 "; [m, k] and [k, n] are needed");
  OPYARD_REQUIRE(a.size(1) <= kLongest, BadShape, "fastbox::int8_matmul: a is ", a,
                 "; rows of at most ", kLongest, " elements are needed");
  OPYARD_REQUIRE(a_scale.dim() == 1 && a_scale.size(0) == a.size(0), BadShape,
                 "fastbox::int8_matmul: a_scale is ", a_scale, "; one for each of ", a.size(0),
                 " rows is needed");
  OPYARD_REQUIRE(b_scale.dim() == 1 && b_scale.size(0) == b.size(1), BadShape,
                 "fastbox::int8_matmul: b_scale is ", b_scale, "; one for each of ", b.size(1),
                 " columns is needed");
}

void multiply(const Tensor& a, const Tensor& b, const Tensor& a_scale, const Tensor& b_scale,
              const Tensor& result) {
  const auto row_scale = accessor<const float, 1>(a_scale);
  const auto column_scale = accessor<const float, 1>(b_scale);
  const Tensor rows = contiguous(a), columns = contiguous(b);
  const std::int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  const std::int8_t* const factors = rows.data<std::int8_t>();
  float* out = result.mutable_data<float>();
  std::vector<std::int32_t> sums(std::size_t(n), 0);
  for (std::int64_t i = 0; i < m; ++i, out += n) {
    std::fill(sums.begin(), sums.end(), 0);
    const std::int8_t* other = columns.data<std::int8_t>();
    for (std::int64_t j = 0; j < k; ++j, other += n) {
      const std::int32_t factor = factors[i * k + j];
      for (std::int64_t c = 0; c < n; ++c) sums[std::size_t(c)] += factor * other[c];
    }
    for (std::int64_t c = 0; c < n; ++c) {
      out[c] = float(sums[std::size_t(c)]) * row_scale(i) * column_scale(c);
    }
  }
}

Tensor int8_matmul(const Tensor& a, const Tensor& b, const Tensor& a_scale, const Tensor& b_scale) {
  OPYARD_REQUIRE(a.dtype() == DType::Int8 && b.dtype() == DType::Int8, BadArgument,
                 "fastbox::int8_matmul: a is ", a, " and b is ", b, "; int8 is needed");
  OPYARD_REQUIRE(a_scale.dtype() == DType::Float32 && b_scale.dtype() == DType::Float32,
                 BadArgument, "fastbox::int8_matmul: a_scale is ", a_scale, " and b_scale is ",
                 b_scale, "; float32 is needed");
  for (const Tensor* const each : {&a, &b, &a_scale, &b_scale}) {
    if (!opyard::has_symbolic_sizes(*each)) continue;
    using Outer = Tensor(const Tensor&, const Tensor&);
    static const auto outer = opyard::require_operator("aten::outer").typed<Outer>();
    return outer.call(a_scale, b_scale);  // on meta, of the result's sizes
  }
  require_factors(a, b, a_scale, b_scale);
  const Tensor result = Tensor::empty(std::array{a.size(0), b.size(1)}, DType::Float32, a.device());
  if (!opyard::is_meta(a)) multiply(a, b, a_scale, b_scale, result);
  return result;
}

OPYARD_LIBRARY(fastbox, m) {
  m.def("nms(Tensor boxes, Tensor scores, float iou_threshold) -> Tensor",
        {"dynamic_output_shape"});
  m.def(
      "nms_padded(Tensor boxes, Tensor scores, float iou_threshold, int limit) -> (Tensor kept, "
      "Tensor count)");
  m.def("rotary(Tensor x, Tensor cos, Tensor sin) -> Tensor");
  m.def("int8_matmul(Tensor a, Tensor b, Tensor a_scale, Tensor b_scale) -> Tensor");
  m.impl("nms", opyard::DispatchKey::CPU, opyard::cpu_only(&nms));
  m.impl("nms_padded", opyard::DispatchKey::CPU, &nms_padded);
  m.impl("rotary", opyard::DispatchKey::CPU, &rotary);
  m.impl("int8_matmul", opyard::DispatchKey::CPU, opyard::releases_gil(&int8_matmul));
  m.derivative("rotary", {{"x", "rotary(grad, cos, -sin)"}, {"cos", "None"}, {"sin", "None"}});
}

}  // namespace
