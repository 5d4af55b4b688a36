// kernels/common/symbolic_results.cpp: sizes of results in SymInts.
#include "common/symbolic_results.h"

#include <opyard/library.h>

#include <algorithm>

namespace opyard::kernels {
namespace {

bool is_size_one(const SymInt& size) { return !size.is_symbolic() && size.expect_int() == 1; }

}  // namespace

bool may_be_equal(const SymInt& a, const SymInt& b) {
  return a.is_symbolic() || b.is_symbolic() || a.expect_int() == b.expect_int();
}

std::vector<SymInt> sym_sizes_of(const Tensor& self) {
  const SymIntSpan sizes = sym_sizes(self);
  return {sizes.begin(), sizes.end()};
}

std::optional<std::vector<SymInt>> find_symbolic_broadcast(SymIntSpan a, SymIntSpan b) {
  if (a.size() < b.size()) std::swap(a, b);
  std::vector<SymInt> sizes(a.begin(), a.end());
  const std::size_t added = a.size() - b.size();
  for (std::size_t i = 0; i < b.size(); ++i) {
    SymInt& size = sizes[added + i];
    if (is_size_one(b[i])) continue;
    if (is_size_one(size)) {
      size = b[i];
    } else if (!may_be_equal(size, b[i])) {
      return std::nullopt;
    } else if (size.is_symbolic()) {
      size = b[i].is_symbolic() ? size : b[i];
    }
  }
  return sizes;
}

std::vector<SymInt> symbolic_broadcast(const char* op, std::span<const Tensor* const> inputs,
                                       std::span<const char* const> names) {
  std::vector<SymInt> sizes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto joined = find_symbolic_broadcast(sizes, sym_sizes(*inputs[i]));
    if (!joined) {
      std::size_t before = 0;
      while (before + 1 < i &&
             find_symbolic_broadcast(sym_sizes(*inputs[before]), sym_sizes(*inputs[i]))) {
        ++before;
      }
      refuse(
          ErrorKind::BadShape,
          {op, ": ", names[before], " is ", *inputs[before], " and ", names[i], " is ", *inputs[i],
           "; counted from the last dimension, sizes must be equal or 1 in one of them"});
    }
    sizes = *std::move(joined);
  }
  return sizes;
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
