// kernels/matrix/matmul.cpp: matmul, which picks among dot, mv, mm and bmm by the number of
// dimensions, and linear.
//
//   [k] x [k]           dot        [n, k] x [k]         mv
//   [k] x [k, m]        mm         [n, k] x [k, m]      mm
//   [..., n, k] x [k] or [k, m]    the leading dimensions are folded into rows
//   [..., n, k] x [..., k, m]      the leading dimensions broadcast, and are folded into one: bmm
#include "common/broadcast.h"
#include "common/check.h"
#include "common/define.h"
#include "common/ops.h"
#include "common/symbolic_results.h"
#include "common/walk.h"

namespace opyard::kernels {
namespace {

using BinaryCall = Tensor(const Tensor&, const Tensor&);

Tensor call_mv(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<BinaryCall> op("aten::mv");
  return op.call(a, b);
}
Tensor call_dot(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<BinaryCall> op("aten::dot");
  return op.call(a, b);
}
Tensor call_addmm(const Tensor& self, const Tensor& a, const Tensor& b) {
  using Addmm = Tensor(const Tensor&, const Tensor&, const Tensor&, const Scalar&, const Scalar&);
  static constinit FoundOperator<Addmm> op("aten::addmm");
  return op.call(self, a, b, 1, 1);
}

// The leading dimensions of a tensor as rows.
Tensor folded(const Tensor& self) {
  const IntSpan sizes = self.sizes();
  const std::array rows = {count_elements(sizes.first(sizes.size() - 1)), sizes.back()};
  return ops::reshape(self, rows);
}

// A batch of matrices with these leading sizes.
Tensor as_batch(const Tensor& self, const DimVector& lead) {
  const IntSpan sizes = self.sizes();
  DimVector spread(lead);
  spread.push_back(sizes[sizes.size() - 2]);
  spread.push_back(sizes.back());
  const std::array batch = {count_elements(lead), sizes[sizes.size() - 2], sizes.back()};
  return ops::reshape(ops::expand(self, spread), batch);
}

Tensor call_bmm(const char* op, const Tensor& self, const Tensor& other) {
  const Tensor left = self.dim() == 1 ? ops::unsqueeze(self, 0) : self;
  const IntSpan a = left.sizes(), b = other.sizes();
  require_leading(op, {"self", self}, {"other", other});
  const std::optional<DimVector> lead =
      find_broadcast(a.first(a.size() - 2), b.first(b.size() - 2));
  const Tensor product = ops::bmm(as_batch(left, *lead), as_batch(other, *lead));
  DimVector sizes(*lead);
  if (self.dim() > 1) sizes.push_back(a[a.size() - 2]);
  sizes.push_back(b.back());
  return ops::reshape(product, sizes);
}

// ---- sizes that are not known: see symbolic_results.h [Unknown sizes] ----

bool any_is_symbolic(const Tensor& self, const Tensor& other) {
  return has_symbolic_sizes(self) || has_symbolic_sizes(other);
}

Tensor symbolic_batch(const Tensor& self, const std::vector<SymInt>& lead) {
  const SymIntSpan sizes = sym_sizes(self);
  const SymInt rows = sizes[sizes.size() - 2], columns = sizes.back();
  std::vector<SymInt> spread(lead);
  spread.push_back(rows);
  spread.push_back(columns);
  SymInt count(1);
  for (const SymInt& size : lead) count = count * size;
  return call_view(ops::contiguous(call_expand(self, std::move(spread))), {count, rows, columns});
}

Tensor multiply_symbolic_batches(const char* op, const Tensor& self, const Tensor& other) {
  const Tensor left = self.dim() == 1 ? ops::unsqueeze(self, 0) : self;
  const Tensor right = other.dim() == 1 ? ops::unsqueeze(other, 1) : other;
  const SymIntSpan a = sym_sizes(left), b = sym_sizes(right);
  require_leading(op, {"self", self}, {"other", other});
  const auto lead = find_broadcast(a.first(a.size() - 2), b.first(b.size() - 2));
  const Tensor product = ops::bmm(symbolic_batch(left, *lead), symbolic_batch(right, *lead));
  std::vector<SymInt> sizes(*lead);
  if (self.dim() > 1) sizes.push_back(a[a.size() - 2]);
  if (other.dim() > 1) sizes.push_back(b.back());
  return call_view(product, std::move(sizes));
}

// Whether the last size of self is the one of other that it meets.
bool batches_fit(const Tensor& self, const Tensor& other) {
  const std::size_t met = other.dim() == 1 ? 0 : std::size_t(other.dim() - 2);
  if (any_is_symbolic(self, other))
    return may_be_equal(sym_sizes(self).back(), sym_sizes(other)[met]);
  return self.sizes().back() == other.sizes()[met];
}

Tensor matmul_kernel(const Tensor& self, const Tensor& other) {
  constexpr const char* kOp = "aten::matmul";
  require_one_dtype(kOp, "self", self, "other", other);
  const std::int64_t left = self.dim(), right = other.dim();
  if (left == 0 || right == 0) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, " and other is ", other,
                                 "; both need at least one dimension, and aten::mul.Tensor "
                                 "multiplies by a number"});
  }
  if (!batches_fit(self, other)) {
    refuse(ErrorKind::BadShape,
           {kOp, ": self is ", self, " and other is ", other,
            right <= 2 ? "; the last size of self must be the first size of other"
                       : "; the last size of self must be the last but one of other"});
  }
  const bool symbolic = any_is_symbolic(self, other);
  if (symbolic && (left > 2 || right > 2)) return multiply_symbolic_batches(kOp, self, other);
  if (right > 2) return call_bmm(kOp, self, other);
  if (left == 1) {
    if (right == 1) return call_dot(self, other);
    if (symbolic) return ops::squeeze(ops::mm(ops::unsqueeze(self, 0), other), 0);
    return ops::reshape(ops::mm(ops::unsqueeze(self, 0), other), std::array{other.sizes()[1]});
  }
  if (left == 2) return right == 1 ? call_mv(self, other) : ops::mm(self, other);

  DimVector sizes(self.sizes());
  sizes.resize(sizes.size() - 1);
  const Tensor rows = folded(self);
  if (right == 1) return ops::reshape(call_mv(rows, other), sizes);
  sizes.push_back(other.sizes()[1]);
  return ops::reshape(ops::mm(rows, other), sizes);
}

Tensor linear(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  constexpr const char* kOp = "aten::linear";
  using ops::operator+;
  require_one_dtype(kOp, "input", input, "weight", weight);
  const bool is_matrix = weight.dim() == 2;
  if (input.dim() == 0 || weight.dim() < 1 || weight.dim() > 2 ||
      !may_be_equal(sym_sizes(input).back(), sym_sizes(weight).back())) {
    refuse(ErrorKind::BadShape,
           {kOp, ": input is ", input, " and weight is ", weight,
            "; a weight of one or two dimensions is needed whose last size is input's"});
  }
  const Tensor factor = is_matrix ? ops::transpose(weight, 0, 1) : weight;
  if (!bias) return ops::matmul(input, factor);
  if (!is_matrix || input.dim() == 1 || bias->dim() != 1 || any_is_symbolic(input, weight)) {
    const Tensor product = ops::matmul(input, factor);
    require_broadcast(kOp, {{"the product of input and weight", product}, {"bias", *bias}});
    return product + *bias;
  }
  DimVector sizes(input.sizes());
  sizes[sizes.size() - 1] = weight.sizes()[0];
  require_expandable(kOp, {"bias", *bias}, "the product of input and weight", sizes);
  if (input.dim() == 2) return call_addmm(*bias, input, factor);
  return ops::reshape(call_addmm(*bias, folded(input), factor), sizes);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("matmul(Tensor self, Tensor other) -> Tensor", &matmul_kernel);
  m.def("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", &linear);
  define_out(m, "matmul");
  define_out(m, "linear");
}

}  // namespace opyard::kernels
