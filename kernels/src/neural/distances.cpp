// kernels/neural/distances.cpp: how far points are apart: cdist between two lists of points, pdist
// within one.
//
// Compositions of differences and linalg_vector_norm, so that gradients of every order are those of
// the parts. There is one way to compute them: `compute_mode` is checked, and changes nothing.
#include "common/define.h"
#include "common/dtypes.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/releasing.h"

namespace opyard::kernels {
namespace {

using namespace ops;

// Differences are taken where halves are exact.
Tensor in_carrier(const Tensor& x) { return to(x, carrier_of(x.dtype())); }

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

Tensor distances(const char* op, const Tensor& x1, const Tensor& x2, double p,
                 std::optional<std::int64_t> compute_mode) {
  require_floats(op, "x1", x1);
  require_floats(op, "x2", x2);
  require_norm(op, p);
  const std::int64_t mode = compute_mode.value_or(0);
  if (mode < 0 || mode > 2) {
    refuse(ErrorKind::BadValue, {op, ": compute_mode is ", mode, "; accepted are 0, 1 and 2"});
  }
  if (x1.dim() < 2 || x2.dim() < 2 || x1.size(-1) != x2.size(-1)) {
    refuse(ErrorKind::BadShape, {op, ": x1 is ", x1, " and x2 is ", x2,
                                 "; two dimensions and more, the last of one size, are needed"});
  }
  const Tensor between = unsqueeze(in_carrier(x1), -2) - unsqueeze(in_carrier(x2), -3);
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
  require_floats(op, "self", self);
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
  const Tensor points = in_carrier(self);
  const auto rows = [&](const Tensor& places) {
    const bool meta = is_meta(self);
    return index_select(points, 0, meta ? empty_beside(self, sizes, DType::Int64) : places);
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

}  // namespace opyard::kernels
