// kernels/common/symbolic_results.cpp: sizes of results in SymInts.
#include "common/symbolic_results.h"

#include <opyard/library.h>

#include <algorithm>

namespace opyard::kernels {

std::vector<SymInt> sym_sizes_of(const Tensor& self) {
  const SymIntSpan sizes = sym_sizes(self);
  return {sizes.begin(), sizes.end()};
}

Tensor symbolic_like(const char* op, const Tensor& self, DType dtype) {
  return empty_on_meta(op, sym_sizes_of(self), dtype);
}

Tensor symbolic_reduction(const char* op, const Tensor& self, const SmallVector<bool, 8>& reduced,
                          bool keepdim, DType dtype) {
  const SymIntSpan own = sym_sizes(self);
  std::vector<SymInt> sizes;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (!reduced[i]) sizes.push_back(own[i]);
    if (reduced[i] && keepdim) sizes.push_back(SymInt(1));
  }
  return empty_on_meta(op, sizes, dtype);
}

Tensor symbolic_diagonal(const Tensor& self, std::int64_t offset, std::size_t dim1,
                         std::size_t dim2) {
  const SymIntSpan own = sym_sizes(self), own_strides = sym_strides(self);
  std::vector<SymInt> sizes, strides;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (i == dim1 || i == dim2) continue;
    sizes.push_back(own[i]);
    strides.push_back(own_strides[i]);
  }
  SymInt rows = own[dim1], columns = own[dim2];
  if (offset > 0) columns = max(columns - SymInt(offset), SymInt(0));
  if (offset < 0) rows = max(rows + SymInt(offset), SymInt(0));
  sizes.push_back(min(rows, columns));
  strides.push_back(own_strides[dim1] + own_strides[dim2]);
  SymInt begin = sym_storage_offset(self);
  if (offset > 0) begin = begin + SymInt(offset) * own_strides[dim2];
  if (offset < 0) begin = begin + SymInt(-offset) * own_strides[dim1];
  return symbolic_view(self, std::move(sizes), std::move(strides), std::move(begin));
}

Tensor symbolic_product(const char* op, const Tensor& a, const Tensor& b) {
  const SymIntSpan left = sym_sizes(a), right = sym_sizes(b);
  std::vector<SymInt> sizes(left.begin(), left.end() - 1);
  sizes.insert(sizes.end(), right.begin() + 1, right.end());
  return empty_on_meta(op, sizes, a.dtype());
}

Tensor call_expand(const Tensor& self, std::vector<SymInt> sizes) {
  static const Operator& op = require_operator("aten::expand");
  Stack stack;
  stack.push(Value(self));
  stack.push(ValueCast<std::vector<SymInt>>::to(std::move(sizes)));
  stack.push(Value(false));
  op.call_boxed(stack);
  return stack.pop().to_tensor();
}

}  // namespace opyard::kernels
