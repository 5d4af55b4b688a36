// kernels/gradients/quantiles.cpp: derivatives of quantiles, of running logarithms of sums, and of
// covariances, which other libraries compute.
//
// [Quantiles] A quantile is a mean, with weights, of two neighbours of the sorted elements, or one
// of them. Which they are is found again by sorting, and each gets its weight. A line that has a
// NaN has that for its quantile, and its last element in order, a NaN, gets all. nanquantile()
// counts what is no NaN; of a line of nothing else the first gets all, as in PyTorch.
//
// [Running logarithms] An element has a share of each sum from it on: exp(self_i - sums_j), for j
// from i on. Its gradient is the sum of their gradients with these shares, and the tangent of a sum
// is that of the tangents up to it, with the same shares. Each is the other's adjoint, and has it
// for its formula: both are linear in `values`, which their logarithms are not, least of all at 0.
#include <opyard/library.h>
#include <opyard/registry/found_operator.h>

#include <limits>

#include "common/check.h"
#include "common/ops.h"

namespace opyard::kernels {
namespace {

using namespace ops;

Tensor turned_around(const Tensor& x, std::int64_t dim) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan)> op("aten::flip");
  return op.call(x, {&dim, 1});
}

// Of values of either sign, by their logarithms: exp(outer_i) times the sum of values_j *
// exp(inner_j), over j up to i, or from i on. Those above 0 and those below are summed apart. A NaN
// is among the first ones.
Tensor signed_sums(const Tensor& values, const Tensor& inner, const Tensor& outer, std::int64_t dim,
                   bool from_there_on) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t)> sum("aten::logcumsumexp");
  const double lowest = values.dtype() == DType::Float64
                            ? std::numeric_limits<double>::lowest()
                            : double(std::numeric_limits<float>::lowest());
  const auto turned = [&](const Tensor& x) { return from_there_on ? turned_around(x, dim) : x; };
  const auto part = [&](const Tensor& positive, const Tensor& is_not_there) {
    const Tensor size = log(masked(positive, is_not_there, 1));
    const Tensor logs = masked(size, is_not_there, lowest / 4) + inner;
    return exp(turned(sum.call(turned(logs), dim)) + outer);
  };
  return part(values, values <= 0) - part(-values, negation(values < 0));
}

// See [Running logarithms].
Tensor logcumsumexp_backward(const Tensor& values, const Tensor& self, const Tensor& sums,
                             std::int64_t dim) {
  if (values.dim() == 0 || values.numel() == 0) return values * 1;
  return signed_sums(values, -sums, self, dim, true);
}
Tensor logcumsumexp_tangent(const Tensor& values, const Tensor& self, const Tensor& sums,
                            std::int64_t dim) {
  if (values.dim() == 0 || values.numel() == 0) return values * 1;
  return signed_sums(values, self, -sums, dim, false);
}

// ---- see [Quantiles]

// The lower and the upper neighbour of a rank, and the weight of the upper one.
struct Neighbours {
  Tensor lower, upper, weight;
};
Neighbours neighbours_of(const Tensor& ranks, std::string_view interpolation) {
  static constinit FoundOperator<Tensor(const Tensor&)> floor("aten::floor"), ceil("aten::ceil"),
      round("aten::round");
  const auto exactly = [&](const Tensor& rank) { return Neighbours{rank, rank, rank * 0}; };
  if (interpolation == "lower") return exactly(floor.call(ranks));
  if (interpolation == "higher") return exactly(ceil.call(ranks));
  if (interpolation == "nearest") return exactly(round.call(ranks));
  const Tensor lower = floor.call(ranks), upper = ceil.call(ranks);
  if (interpolation == "midpoint") return {lower, upper, ranks * 0 + Scalar(0.5)};
  return {lower, upper, ranks - lower};
}

// `q` are one or several numbers; the result of several has a dimension for them in front.
Tensor quantile_backward(const Tensor& grad, const Tensor& self, const Tensor& q,
                         std::optional<std::int64_t> dim, bool keepdim,
                         std::string_view interpolation, bool ignore_nan) {
  constexpr const char* kOp = "opyard::quantile_backward";
  using Sorted = std::tuple<Tensor, Tensor>;
  static constinit FoundOperator<Sorted(const Tensor&, std::int64_t, bool)> sort("aten::sort");
  static constinit FoundOperator<Tensor(const Tensor&)> is_nan("aten::isnan");
  require_defined(kOp, "self", self);
  require_defined(kOp, "q", q);
  const std::int64_t rank = self.dim();
  const bool is_flat = !dim || rank == 0;
  const std::int64_t at = is_flat ? 0 : wrap_dim(kOp, *dim, rank);
  const std::int64_t count_of_q = q.dim() == 0 ? 1 : q.numel();

  // Lines in the last dimension, and the gradients of the quantiles of each there.
  const Tensor lines =
      is_flat ? ops::reshape(self, DimVector{self.numel()}) : ops::transpose(self, at, rank - 1);
  DimVector sizes_of_grad(lines.sizes());
  sizes_of_grad.back() = count_of_q;
  Tensor moved;
  if (is_flat) {
    moved = ops::reshape(grad, sizes_of_grad);
  } else {
    Tensor whole = q.dim() == 0 ? ops::unsqueeze(grad, 0) : grad;
    if (!keepdim) whole = ops::unsqueeze(whole, at + 1);
    // [q, …, 1 at `at`, …]: the dimension of 1 gives its place to that of q.
    whole = ops::transpose(whole, 0, at + 1);
    whole = ops::squeeze(whole, 0);
    moved = ops::transpose(whole, at, rank - 1);
  }

  const Tensor values = detach(lines);
  const auto [ordered, order] = sort.call(values, -1, false);
  const std::int64_t length = lines.size(-1);
  const Tensor numbers = ops::to(ops::reshape(q, DimVector{count_of_q}), DType::Float64);
  const Tensor nans = ops::sum(ops::to(is_nan.call(values), DType::Float64), DimVector{-1}, true);
  Tensor ranks;
  if (ignore_nan) {
    ranks = ops::clamp(-nans + Scalar(double(length - 1)), Scalar(0.0), std::nullopt) * numbers;
  } else {
    const Tensor whole = nans * 0 + numbers * Scalar(double(length - 1));
    ranks = where(nans > 0, whole * 0 + Scalar(double(length - 1)), whole);
  }
  const Neighbours found = neighbours_of(detach(ranks), interpolation);
  const auto place = [&](const Tensor& each) {
    return gather(order, -1, ops::to(each, DType::Int64));
  };
  const Tensor weight = ops::to(found.weight, grad.dtype());
  Tensor result = ops::zeros(lines, lines.sizes());
  result = scatter_add(result, -1, place(found.lower), moved * (Scalar(1.0) - weight));
  result = scatter_add(result, -1, place(found.upper), moved * weight);
  return is_flat ? ops::reshape(result, self.sizes()) : ops::transpose(result, at, rank - 1);
}

Tensor quantile_of_number_backward(const Tensor& grad, const Tensor& self, double q,
                                   std::optional<std::int64_t> dim, bool keepdim,
                                   std::string_view interpolation, bool ignore_nan) {
  require_defined("opyard::quantile_of_number_backward", "self", self);
  const Tensor number = full(self, {}, Scalar(q), DType::Float64);
  return quantile_backward(grad, self, number, dim, keepdim, interpolation, ignore_nan);
}

Tensor aminmax_backward(const Tensor& grad_min, const Tensor& grad_max, const Tensor& self,
                        const Tensor& min, const Tensor& max, std::optional<std::int64_t> dim,
                        bool keepdim) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&, const Tensor&,
                                        std::optional<IntSpan>, bool)>
      op("opyard::extremum_backward");
  std::optional<IntSpan> dims;
  const std::int64_t one = dim.value_or(0);
  if (dim) dims = IntSpan(&one, 1);
  return op.call(grad_min, self, min, dims, keepdim) + op.call(grad_max, self, max, dims, keepdim);
}

// The mean that is taken away has no part in it: what is taken from it sums up to nothing.
Tensor cov_backward(const Tensor& grad, const Tensor& self, std::int64_t correction,
                    const std::optional<Tensor>& fweights, const std::optional<Tensor>& aweights) {
  require_defined("opyard::cov_backward", "self", self);
  const bool is_row = self.dim() < 2;
  const Tensor rows = is_row ? ops::reshape(self, DimVector{1, self.numel()}) : self;
  const Tensor of_rows = is_row ? ops::reshape(grad, DimVector{1, 1}) : grad;
  const auto given = [](const std::optional<Tensor>& x) { return x && x->defined(); };
  const auto as_row = [&](const Tensor& x) { return ops::to(x, DType::Float64); };
  Tensor weights = full(rows, DimVector{rows.size(-1)}, Scalar(1.0), DType::Float64);
  if (given(fweights)) weights = weights * as_row(*fweights);
  if (given(aweights)) weights = weights * as_row(*aweights);
  const Tensor total = sum(weights);
  Tensor lost = total * 0 + Scalar(double(correction));
  if (given(aweights)) lost = sum(weights * as_row(*aweights)) / total * Scalar(double(correction));
  const Tensor divisor = ops::clamp(total - lost, Scalar(0.0), std::nullopt);
  const DType real_dtype =
      is_complex(self.dtype())
          ? (self.dtype() == DType::ComplexDouble ? DType::Float64 : DType::Float32)
          : self.dtype();
  const Tensor share = ops::to(weights, real_dtype);
  const Tensor mean = sum(rows * share, DimVector{-1}, true) / ops::to(total, real_dtype);
  const Tensor apart = (rows - mean) * share;
  const Tensor both = of_rows + conj(ops::transpose(of_rows, 0, 1));
  const Tensor result = matmul(both, apart) / ops::to(divisor, real_dtype);
  return ops::reshape(result, self.sizes());
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.derivative("logcumsumexp", {{"self", "logcumsumexp_backward(grad, self, result, dim)"}});
  m.derivative("quantile", {{"self",
                             "quantile_backward(grad, self, q, dim, keepdim, interpolation, "
                             "False)"}});
  m.derivative("nanquantile", {{"self",
                                "quantile_backward(grad, self, q, dim, keepdim, interpolation, "
                                "True)"}});
  m.derivative("quantile.scalar", {{"self",
                                    "quantile_of_number_backward(grad, self, q, dim, keepdim, "
                                    "interpolation, False)"}});
  m.derivative("nanquantile.scalar", {{"self",
                                       "quantile_of_number_backward(grad, self, q, dim, keepdim, "
                                       "interpolation, True)"}});
  m.derivative("aminmax", {{"self",
                            "aminmax_backward(grad0, grad1, self, result0, result1, dim, "
                            "keepdim)"}});
  m.derivative("cov", {{"self", "cov_backward(grad, self, correction, fweights, aweights)"}});
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("logcumsumexp_backward(Tensor values, Tensor self, Tensor sums, int dim) -> Tensor");
  m.def("logcumsumexp_tangent(Tensor values, Tensor self, Tensor sums, int dim) -> Tensor");
  m.derivative("logcumsumexp_backward",
               {{"values", "logcumsumexp_tangent(grad, self, sums, dim)"},
                {"self", "grad * result"},
                {"sums", "-values * logcumsumexp_tangent(grad, self, sums, dim)"}});
  m.derivative("logcumsumexp_tangent",
               {{"values", "logcumsumexp_backward(grad, self, sums, dim)"},
                {"self", "values * logcumsumexp_backward(grad, self, sums, dim)"},
                {"sums", "-grad * result"}});
  m.def(
      "quantile_backward(Tensor grad, Tensor self, Tensor q, int? dim, bool keepdim, str "
      "interpolation, bool ignore_nan) -> Tensor",
      &quantile_backward);
  m.def(
      "quantile_of_number_backward(Tensor grad, Tensor self, float q, int? dim, bool keepdim, str "
      "interpolation, bool ignore_nan) -> Tensor",
      &quantile_of_number_backward);
  m.def(
      "aminmax_backward(Tensor grad_min, Tensor grad_max, Tensor self, Tensor min, Tensor max, "
      "int? "
      "dim, bool keepdim) -> Tensor",
      &aminmax_backward);
  m.def(
      "cov_backward(Tensor grad, Tensor self, int correction, Tensor? fweights, Tensor? aweights) "
      "-> Tensor",
      &cov_backward);
}

OPYARD_LIBRARY_IMPL(opyard, CompositeExplicitAutograd, m) {
  m.impl("logcumsumexp_backward", &logcumsumexp_backward);
  m.impl("logcumsumexp_tangent", &logcumsumexp_tangent);
}

}  // namespace opyard::kernels
