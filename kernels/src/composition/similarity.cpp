// kernels/composition/similarity.cpp: vectors by their lengths: cosine_similarity, and weights of
// which length and direction are apart: norm_except_dim, _weight_norm.
#include <algorithm>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/define.h"
#include "common/dtypes.h"
#include "common/halves.h"
#include "common/options.h"
#include "common/walk.h"

namespace opyard::kernels {
namespace {

using namespace ops;

Tensor length_of(const Tensor& x, const Scalar& ord, IntSpan dims) {
  using Norm = Tensor(const Tensor&, const Scalar&, MaybeDims, bool, MaybeDType);
  static constinit FoundOperator<Norm> op("aten::linalg_vector_norm");
  return op.call(x, ord, dims, true, std::nullopt);
}

// The length, or `least` if that is more. Its gradient is that of the length also where `least`
// is taken, as PyTorch's.
Tensor length_at_least(const Tensor& x, IntSpan dim, double least) {
  const Tensor length = length_of(x, 2, dim);
  return length + detach(clamp(length, least, std::nullopt) - length);
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, std::int64_t dim, double eps) {
  constexpr const char* kOp = "aten::cosine_similarity";
  const auto [a, b] = promoted(kOp, {{"x1", x1}, {"x2", x2}});
  if (!is_floating_point(a.dtype())) {
    refuse(ErrorKind::BadArgument,
           {kOp, ": x1 is ", x1, " and x2 is ", x2,
            "; they must meet in a float, to which aten::to.dtype converts"});
  }
  require_broadcast(kOp, {{"x1", x1}, {"x2", x2}});
  const std::optional<DimVector> sizes = find_broadcast(a.sizes(), b.sizes());
  const std::array at = {wrap_dim(kOp, dim, std::int64_t(sizes->size()))};
  return rounded_once(
      [&](const Tensor& left, const Tensor& right) {
        const auto direction = [&](const Tensor& x) {
          const Tensor whole = ops::expand(x, *sizes);
          return whole / length_at_least(whole, at, eps);
        };
        return sum(direction(left) * direction(right), at);
      },
      a, b);
}

// Of the vectors along all dimensions but `dim`; a `dim` of -1 means of all elements.
Tensor norm_except(const char* op, const Tensor& v, const Scalar& ord, std::int64_t dim) {
  require_defined(op, "v", v);
  if (dim != -1) wrap_dim(op, dim, v.dim());
  if (dim < -1 || v.dim() == 0) {
    refuse(ErrorKind::BadIndex, {op, ": v is ", v, " and dim is ", dim,
                                 "; accepted are its dimensions from 0 on, and -1 for none"});
  }
  DimVector others;
  for (std::int64_t i = 0; i < v.dim(); ++i) {
    if (i != dim) others.push_back(i);
  }
  if (others.empty()) return abs(v);  // an empty list would mean all
  return length_of(v, ord, others);
}
Tensor norm_except_dim(const Tensor& v, std::int64_t pow, std::int64_t dim) {
  const Tensor norm = norm_except("aten::norm_except_dim", v, pow, dim);
  return dim == -1 ? reshape(norm, IntSpan()) : norm;
}

// v in the length that g says.
TwoTensors in_length(const char* op, const Tensor& v, const Tensor& g, std::int64_t dim) {
  const auto [x, length] = promoted(op, {{"v", v}, {"g", g}});
  const Tensor wide = widened(x), norm = norm_except(op, wide, 2, dim);
  require_broadcast(op, {{"v", v}, {"g", g}});
  return {to(wide * (widened(length) / norm), x.dtype()), norm};
}
Tensor weight_norm(const Tensor& v, const Tensor& g, std::int64_t dim) {
  return std::get<0>(in_length("aten::_weight_norm", v, g, dim));
}
TwoTensors weight_norm_interface(const Tensor& v, const Tensor& g, std::int64_t dim) {
  return in_length("aten::_weight_norm_interface", v, g, dim);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m, {"cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
             "norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor",
             "_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor",
             "_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)"});
  m.impl("cosine_similarity", &cosine_similarity);
  m.impl("norm_except_dim", &norm_except_dim);
  m.impl("_weight_norm", &weight_norm);
  m.impl("_weight_norm_interface", &weight_norm_interface);
}

}  // namespace opyard::kernels
