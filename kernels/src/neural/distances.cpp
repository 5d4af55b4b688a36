// kernels/neural/distances.cpp: pairwise distances: cdist between two lists of points, pdist
// within one.
//
// Compositions of differences and linalg_vector_norm, so that gradients of every order are those of
// the parts; but distances by p=2 between lists of as many leading dimensions are an operator of
// their own, which makes no differences of all pairs. `compute_mode` is checked, and no more.
#include <opyard/library.h>
#include <opyard/parallel.h>

#include <cmath>

#include "common/broadcast.h"
#include "common/copy.h"
#include "common/define.h"
#include "common/dtypes.h"
#include "common/kernels_block.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/releasing.h"
#include "common/symbolic.h"

namespace opyard::kernels {
namespace {

using namespace ops;

// Differences are taken where halves are exact.
Tensor floats_of(const Tensor& x) { return to(x, carrier_of(x.dtype())); }

void require_norm(const char* op, double p) {
  if (!(p >= 0)) refuse(ErrorKind::BadValue, {op, ": p is ", p, "; 0 and more are accepted"});
}

// The norms of the last dimension.
Tensor norms(const Tensor& differences, double p) {
  using Norm =
      Tensor(const Tensor&, const Scalar&, std::optional<IntSpan>, bool, std::optional<DType>);
  static constinit FoundOperator<Norm> op("aten::linalg_vector_norm");
  const std::array<std::int64_t, 1> last = {-1};
  if (differences.size(-1) == 0) return sum(differences, last);  // also of p=inf
  return op.call(differences, p, IntSpan(last), false, std::nullopt);
}

// Eight lanes, whose order the build does not change.
template <typename T>
double squared_distance(const T* a, const T* b, std::int64_t count) {
  constexpr int kLanes = 8;
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const double apart = double(a[i + lane]) - double(b[i + lane]);
      lanes[lane] += apart * apart;
    }
  }
  for (; i < count; ++i) {
    const double apart = double(a[i]) - double(b[i]);
    lanes[i % kLanes] += apart * apart;
  }
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

// [batch, points, size] and [batch, others, size], of float32 or float64: [batch, points, others].
Tensor euclidean_distances(const Tensor& x1, const Tensor& x2) {
  constexpr const char* kOp = "opyard::euclidean_distances";
  require_floats(kOp, "x1", x1);
  require_floats(kOp, "x2", x2);
  require_dims(kOp, "x1", x1, 3, 3);
  require_dims(kOp, "x2", x2, 3, 3);
  require_dtype(kOp, "x2", x2, x1.dtype());
  if (carrier_of(x1.dtype()) != x1.dtype() || x1.size(0) != x2.size(0) ||
      x1.size(2) != x2.size(2)) {
    refuse(ErrorKind::BadShape,
           {kOp, ": x1 is ", x1, " and x2 is ", x2,
            "; float32 or float64 of [batch, points, size] is needed, with one "
            "batch and one size"});
  }
  const std::int64_t points = x1.size(1), others = x2.size(1), size = x1.size(2);
  const std::array sizes = {x1.size(0), points, others};
  if (is_meta(x1) || is_meta(x2)) return empty_beside(is_meta(x1) ? x1 : x2, sizes, x1.dtype());
  const Tensor from = row_major(kOp, x1), to = row_major(kOp, x2);
  const Tensor result = Tensor::empty(sizes, x1.dtype());
  visit_floats(from, [&](auto sample) {
    using T = decltype(sample);
    const T* const a = elements_of<const T>(from);
    const T* const b = elements_of<const T>(to);
    T* const out = elements_of<T>(result);
    const std::int64_t grain = kElementsOfAThread / std::max<std::int64_t>(others * size, 1) + 1;
    const auto rows = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* other = b + row / points * others * size;
        for (std::int64_t k = 0; k < others; ++k, other += size) {
          out[row * others + k] = T(std::sqrt(squared_distance(a + row * size, other, size)));
        }
      }
    };
    without_gil_for(result.numel() * std::max<std::int64_t>(size, 1),
                    [&] { parallel_for(0, sizes[0] * points, grain, rows); });
  });
  return result;
}

// With respect to x1: of each pair the gradient goes along the line between both. Points that are
// the same have none.
Tensor euclidean_distances_backward(const Tensor& grad, const Tensor& result, const Tensor& x1,
                                    const Tensor& x2) {
  const Tensor weights = masked(grad / result, result <= 0, 0);
  const std::array<std::int64_t, 1> others = {2};
  return sum(ops::unsqueeze(weights, 3) * (ops::unsqueeze(x1, 2) - ops::unsqueeze(x2, 1)), others);
}

// Whether both are points of the same leading dimensions.
bool are_of_one_batch(const Tensor& x1, const Tensor& x2) {
  if (has_symbolic_sizes(x1) || has_symbolic_sizes(x2) || x1.dim() != x2.dim()) return false;
  const auto lead = std::size_t(x1.dim()) - 2;
  return std::ranges::equal(x1.sizes().first(lead), x2.sizes().first(lead));
}
Tensor as_one_batch(const Tensor& x) {
  const std::array sizes = {count_elements(x.sizes().first(std::size_t(x.dim()) - 2)), x.size(-2),
                            x.size(-1)};
  return reshape(x, sizes);
}

Tensor distances(const char* op, const Tensor& x1, const Tensor& x2, double p,
                 std::optional<std::int64_t> compute_mode) {
  require_float_dtype(op, "x1", x1);
  require_float_dtype(op, "x2", x2);
  require_norm(op, p);
  const std::int64_t mode = compute_mode.value_or(0);
  if (mode < 0 || mode > 2) {
    refuse(ErrorKind::BadValue, {op, ": compute_mode is ", mode, "; accepted are 0, 1 and 2"});
  }
  if (x1.dim() < 2 || x2.dim() < 2 || x1.size(-1) != x2.size(-1)) {
    refuse(ErrorKind::BadShape, {op, ": x1 is ", x1, " and x2 is ", x2,
                                 "; two dimensions and more, the last of one size, are needed"});
  }
  if (p == 2 && are_of_one_batch(x1, x2)) {
    static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> by_pairs(
        "opyard::euclidean_distances");
    const DType carrier = carrier_of(promote(x1.dtype(), x2.dtype()));
    DimVector sizes(x1.sizes());
    sizes[sizes.size() - 1] = x2.size(-2);
    const Tensor result =
        by_pairs.call(as_one_batch(to(x1, carrier)), as_one_batch(to(x2, carrier)));
    return to(reshape(result, sizes), promote(x1.dtype(), x2.dtype()));
  }
  require_leading(op, {"x1", x1}, {"x2", x2});
  const Tensor between = ops::unsqueeze(floats_of(x1), -2) - ops::unsqueeze(floats_of(x2), -3);
  return to(norms(between, p), promote(x1.dtype(), x2.dtype()));
}
Tensor cdist_forward(const Tensor& x1, const Tensor& x2, double p,
                     std::optional<std::int64_t> compute_mode) {
  return distances("aten::_cdist_forward", x1, x2, p, compute_mode);
}
Tensor cdist(const Tensor& x1, const Tensor& x2, double p,
             std::optional<std::int64_t> compute_mode) {
  return distances("aten::cdist", x1, x2, p, compute_mode);
}

// Of each point to those behind it.
Tensor pairs(const char* op, const Tensor& self, double p) {
  require_float_dtype(op, "self", self);
  require_norm(op, p);
  require_dims(op, "self", self, 2, 2);
  const std::int64_t count = self.size(0);
  const std::array<std::int64_t, 1> sizes = {count * (count - 1) / 2};
  const Tensor first = Tensor::empty(sizes, DType::Int64),
               second = Tensor::empty(sizes, DType::Int64);
  std::int64_t* a = elements_of<std::int64_t>(first);
  std::int64_t* b = elements_of<std::int64_t>(second);
  without_gil_for(sizes[0], [&] {
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t k = i + 1; k < count; ++k) {
        *a++ = i;
        *b++ = k;
      }
    }
  });
  const Tensor points = floats_of(self);
  const auto rows = [&](const Tensor& places) {
    return index_select(points, 0, to_device_of(self, places));
  };
  return to(norms(rows(first) - rows(second), p), self.dtype());
}
Tensor pdist_forward(const Tensor& self, double p) {
  return pairs("aten::_pdist_forward", self, p);
}
Tensor pdist(const Tensor& self, double p) { return pairs("aten::pdist", self, p); }

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m, {"_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
             "cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> Tensor",
             "_pdist_forward(Tensor self, float p=2) -> Tensor",
             "pdist(Tensor self, float p=2) -> Tensor"});
  m.impl("_cdist_forward", &cdist_forward);
  m.impl("cdist", &cdist);
  m.impl("_pdist_forward", &pdist_forward);
  m.impl("pdist", &pdist);
  define_out(m, "_cdist_forward");
  define_out(m, "_pdist_forward");
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("euclidean_distances(Tensor x1, Tensor x2) -> Tensor");
  m.def("euclidean_distances_backward(Tensor grad, Tensor result, Tensor x1, Tensor x2) -> Tensor",
        &euclidean_distances_backward);
  m.derivative("euclidean_distances",
               {{"x1", "euclidean_distances_backward(grad, result, x1, x2)"},
                {"x2",
                 "euclidean_distances_backward(transpose(grad, 1, 2), transpose(result, 1, "
                 "2), x2, x1)"}});
}
OPYARD_KERNELS_OF(opyard, m) { m.impl("euclidean_distances", &euclidean_distances); }

}  // namespace opyard::kernels
