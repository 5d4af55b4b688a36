// kernels/common/ops.cpp: the handles of the operators that compositions call.
#include "common/ops.h"
#include "common/options.h"

#include <opyard/library.h>

namespace opyard::kernels::ops {
namespace {

using MaybeScalar = std::optional<Scalar>;

}  // namespace

Tensor operator+(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&, const Scalar&)> op(
      "aten::add.Tensor");
  return op.call(a, b, 1);
}
Tensor operator+(const Tensor& a, const Scalar& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&, const Scalar&)> op(
      "aten::add.Scalar");
  return op.call(a, b, 1);
}
Tensor operator-(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&, const Scalar&)> op(
      "aten::sub.Tensor");
  return op.call(a, b, 1);
}
Tensor operator-(const Tensor& a, const Scalar& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&, const Scalar&)> op(
      "aten::sub.Scalar");
  return op.call(a, b, 1);
}
Tensor operator-(const Scalar& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&, const Scalar&)> op(
      "aten::rsub.Scalar");
  return op.call(b, a, 1);
}
Tensor operator*(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> op("aten::mul.Tensor");
  return op.call(a, b);
}
Tensor operator*(const Tensor& a, const Scalar& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&)> op("aten::mul.Scalar");
  return op.call(a, b);
}
Tensor operator/(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> op("aten::div.Tensor");
  return op.call(a, b);
}
Tensor operator/(const Tensor& a, const Scalar& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&)> op("aten::div.Scalar");
  return op.call(a, b);
}
Tensor operator<(const Tensor& a, const Scalar& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&)> op("aten::lt.Scalar");
  return op.call(a, b);
}
Tensor operator<=(const Tensor& a, const Scalar& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&)> op("aten::le.Scalar");
  return op.call(a, b);
}
Tensor operator>(const Tensor& a, const Scalar& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&)> op("aten::gt.Scalar");
  return op.call(a, b);
}
Tensor operator>=(const Tensor& a, const Scalar& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&)> op("aten::ge.Scalar");
  return op.call(a, b);
}
Tensor equals(const Tensor& a, const Scalar& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&)> op("aten::eq.Scalar");
  return op.call(a, b);
}
Tensor equals(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> op("aten::eq.Tensor");
  return op.call(a, b);
}
Tensor differs(const Tensor& a, const Scalar& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&)> op("aten::ne.Scalar");
  return op.call(a, b);
}
Tensor both(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> op("aten::logical_and");
  return op.call(a, b);
}
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&, const Tensor&)> op(
      "aten::where.self");
  return op.call(condition, a, b);
}
Tensor masked(const Tensor& a, const Tensor& mask, const Scalar& value) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&, const Scalar&)> op(
      "aten::masked_fill.Scalar");
  return op.call(a, mask, value);
}
Tensor root(const Tensor& a, double order) {
  const Tensor none = equals(a, 0);
  const Tensor some = masked(a, none, 1);
  return masked(order == 2 ? sqrt(some) : pow(some, 1 / order), none, 0);
}
Tensor clamp(const Tensor& a, const MaybeScalar& min, const MaybeScalar& max) {
  static constinit FoundOperator<Tensor(const Tensor&, const MaybeScalar&, const MaybeScalar&)> op(
      "aten::clamp");
  return op.call(a, min, max);
}
Tensor maximum(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> op("aten::maximum");
  return op.call(a, b);
}
Tensor minimum(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> op("aten::minimum");
  return op.call(a, b);
}
Tensor pow(const Tensor& a, const Scalar& exponent) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&)> op(
      "aten::pow.Tensor_Scalar");
  return op.call(a, exponent);
}
Tensor abs(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::abs");
  return op.call(a);
}
Tensor cos(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::cos");
  return op.call(a);
}
Tensor erf(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::erf");
  return op.call(a);
}
Tensor exp(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::exp");
  return op.call(a);
}
Tensor expm1(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::expm1");
  return op.call(a);
}
Tensor log(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::log");
  return op.call(a);
}
Tensor log1p(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::log1p");
  return op.call(a);
}
Tensor relu(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::relu");
  return op.call(a);
}
Tensor rsqrt(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::rsqrt");
  return op.call(a);
}
Tensor sigmoid(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::sigmoid");
  return op.call(a);
}
Tensor sin(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::sin");
  return op.call(a);
}
Tensor real(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::real");
  return op.call(a);
}
Tensor imag(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::imag");
  return op.call(a);
}
Tensor conj(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::conj");
  return op.call(a);
}
Tensor sqrt(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::sqrt");
  return op.call(a);
}
Tensor tanh(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::tanh");
  return op.call(a);
}
Tensor trunc(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::trunc");
  return op.call(a);
}
Tensor negation(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::logical_not");
  return op.call(a);
}
Tensor operator-(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::neg");
  return op.call(a);
}
Tensor detach(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::detach");
  return op.call(a);
}
Tensor sum(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&, MaybeDType)> op("aten::sum");
  return op.call(a, std::nullopt);
}
Tensor sum(const Tensor& a, IntSpan dims, bool keepdim) {
  static constinit FoundOperator<Tensor(const Tensor&, std::optional<IntSpan>, bool, MaybeDType)>
      op("aten::sum.dim_IntList");
  return op.call(a, dims, keepdim, std::nullopt);
}
Tensor mean(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&, MaybeDType)> op("aten::mean");
  return op.call(a, std::nullopt);
}
Tensor mean(const Tensor& a, IntSpan dims, bool keepdim) {
  static constinit FoundOperator<Tensor(const Tensor&, std::optional<IntSpan>, bool, MaybeDType)>
      op("aten::mean.dim");
  return op.call(a, dims, keepdim, std::nullopt);
}
Tensor softmax(const Tensor& a, std::int64_t dim) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, MaybeDType)> op(
      "aten::softmax.int");
  return op.call(a, dim, std::nullopt);
}
Tensor log_softmax(const Tensor& a, std::int64_t dim) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, MaybeDType)> op(
      "aten::log_softmax.int");
  return op.call(a, dim, std::nullopt);
}
Tensor reshape(const Tensor& a, IntSpan sizes) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan)> op("aten::reshape");
  return op.call(a, sizes);
}
Tensor expand(const Tensor& a, IntSpan sizes) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan, bool)> op("aten::expand");
  return op.call(a, sizes, false);
}
Tensor permute(const Tensor& a, IntSpan dims) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan)> op("aten::permute");
  return op.call(a, dims);
}
Tensor transpose(const Tensor& a, std::int64_t dim0, std::int64_t dim1) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, std::int64_t)> op(
      "aten::transpose.int");
  return op.call(a, dim0, dim1);
}
Tensor unsqueeze(const Tensor& a, std::int64_t dim) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t)> op("aten::unsqueeze");
  return op.call(a, dim);
}
Tensor squeeze(const Tensor& a, std::int64_t dim) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t)> op("aten::squeeze.dim");
  return op.call(a, dim);
}
Tensor select(const Tensor& a, std::int64_t dim, std::int64_t index) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, std::int64_t)> op(
      "aten::select.int");
  return op.call(a, dim, index);
}
Tensor narrow(const Tensor& a, std::int64_t dim, std::int64_t start, std::int64_t length) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, std::int64_t, std::int64_t)>
      op("aten::narrow");
  return op.call(a, dim, start, length);
}
Tensor slice(const Tensor& a, std::int64_t dim, MaybeInt start, MaybeInt end, std::int64_t step) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, MaybeInt, MaybeInt,
                                        std::int64_t)>
      op("aten::slice.Tensor");
  return op.call(a, dim, start, end, step);
}
Tensor as_strided(const Tensor& a, IntSpan sizes, IntSpan strides, std::int64_t offset) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan, IntSpan, MaybeInt)> op(
      "aten::as_strided");
  return op.call(a, sizes, strides, offset);
}
Tensor cat(const std::vector<Tensor>& tensors, std::int64_t dim) {
  static constinit FoundOperator<Tensor(const std::vector<Tensor>&, std::int64_t)> op("aten::cat");
  return op.call(tensors, dim);
}
Tensor stack(const std::vector<Tensor>& tensors, std::int64_t dim) {
  static constinit FoundOperator<Tensor(const std::vector<Tensor>&, std::int64_t)> op(
      "aten::stack");
  return op.call(tensors, dim);
}
Tensor index_select(const Tensor& a, std::int64_t dim, const Tensor& index) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, const Tensor&)> op(
      "aten::index_select");
  return op.call(a, dim, index);
}
Tensor gather(const Tensor& a, std::int64_t dim, const Tensor& index) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, const Tensor&, bool)> op(
      "aten::gather");
  return op.call(a, dim, index, false);
}
Tensor scatter_add(const Tensor& a, std::int64_t dim, const Tensor& index, const Tensor& from) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, const Tensor&, const Tensor&)>
      op("aten::scatter_add");
  return op.call(a, dim, index, from);
}
Tensor index(const Tensor& a, const Indices& indices) {
  static constinit FoundOperator<Tensor(const Tensor&, const Indices&)> op("aten::index.Tensor");
  return op.call(a, indices);
}
Tensor mm(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> op("aten::mm");
  return op.call(a, b);
}
Tensor bmm(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> op("aten::bmm");
  return op.call(a, b);
}
Tensor matmul(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> op("aten::matmul");
  return op.call(a, b);
}
Tensor clone(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&, MaybeFormat)> op("aten::clone");
  return op.call(a, std::nullopt);
}
Tensor contiguous(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&, MemoryFormat)> op("aten::contiguous");
  return op.call(a, MemoryFormat::Contiguous);
}
Tensor to(const Tensor& a, DType dtype) {
  static constinit FoundOperator<Tensor(const Tensor&, DType, bool, bool, MaybeFormat)> op(
      "aten::to.dtype");
  return a.dtype() == dtype ? a : op.call(a, dtype, false, false, std::nullopt);
}
const Tensor& copy_into(const Tensor& written, const Tensor& from) {
  static constinit FoundOperator<Tensor&(Tensor&, const Tensor&, bool)> op("aten::copy_");
  Tensor target = written;
  op.call(target, from, false);
  return written;
}
Tensor full(const Tensor& like, IntSpan sizes, const Scalar& value, MaybeDType dtype) {
  using Full =
      Tensor(IntSpan, const Scalar&, MaybeDType, MaybeLayout, MaybeDevice, std::optional<bool>);
  static constinit FoundOperator<Full> op("aten::full");
  return op.call(sizes, value, dtype.value_or(like.dtype()), std::nullopt, like.device(),
                 std::nullopt);
}
Tensor zeros(const Tensor& like, IntSpan sizes) { return full(like, sizes, false); }
Tensor constant_like(const Tensor& like, const Scalar& value) {
  using Full = Tensor(const Tensor&, const Scalar&, MaybeDType, MaybeLayout, MaybeDevice,
                      std::optional<bool>, MaybeFormat);
  static constinit FoundOperator<Full> op("aten::full_like");
  return op.call(like, value, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
}
Tensor to_device_of(const Tensor& like, const Tensor& list) {
  using Move = Tensor(const Tensor&, Device, DType, bool, bool, MaybeFormat);
  static constinit FoundOperator<Move> op("aten::to.device");
  if (like.device().is_cpu()) return list;
  if (is_meta(like)) return empty_beside(like, list.sizes(), list.dtype());
  return op.call(list, like.device(), list.dtype(), false, false, std::nullopt);
}
Tensor arange(const Tensor& like, std::int64_t count) {
  using Range = Tensor(const Scalar&, MaybeDType, MaybeLayout, MaybeDevice, std::optional<bool>);
  static constinit FoundOperator<Range> op("aten::arange");
  return op.call(count, DType::Int64, std::nullopt, like.device(), std::nullopt);
}

}  // namespace opyard::kernels::ops
