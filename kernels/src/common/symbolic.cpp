// kernels/common/symbolic.cpp: geometry of tensors whose sizes only their elements tell.
//
// A size that is computed from SymInts is one itself; no kernel here compares two of them, since
// that would ask the reasoner to decide what a fake kernel cannot know.
#include "common/symbolic.h"

#include <algorithm>

namespace opyard::kernels {
namespace {

std::vector<SymInt> sizes_of(const Tensor& self) {
  const SymIntSpan sizes = sym_sizes(self);
  return {sizes.begin(), sizes.end()};
}
std::vector<SymInt> strides_of(const Tensor& self) {
  const SymIntSpan strides = sym_strides(self);
  return {strides.begin(), strides.end()};
}

bool is_plain(const std::vector<SymInt>& words) {
  return std::none_of(words.begin(), words.end(),
                      [](const SymInt& word) { return word.is_symbolic(); });
}

DimVector plain(const std::vector<SymInt>& words) {
  DimVector numbers;
  for (const SymInt& word : words) numbers.push_back(word.expect_int());
  return numbers;
}

std::vector<SymInt> row_major_strides(const std::vector<SymInt>& sizes) {
  std::vector<SymInt> strides(sizes.size(), SymInt(1));
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

}  // namespace

Tensor empty_on_meta(const char* op, const std::vector<SymInt>& sizes, DType dtype) {
  const Device meta{Backend::Meta};
  if (is_plain(sizes)) {
    const DimVector numbers = plain(sizes);
    require_sizes(op, numbers);
    return Tensor::empty(numbers, dtype, meta);
  }
  for (const SymInt& size : sizes) {
    if (!size.is_symbolic()) require_sizes(op, std::array{size.expect_int()});
  }
  const Tensor made = Tensor::empty(DimVector(sizes.size(), 0), dtype, meta);
  make_symbolic(made, sizes, row_major_strides(sizes), SymInt(0));
  return made;
}

Tensor symbolic_view(const Tensor& self, std::vector<SymInt> sizes, std::vector<SymInt> strides,
                     SymInt offset) {
  if (is_plain(sizes) && is_plain(strides) && !offset.is_symbolic() && !has_symbolic_sizes(self)) {
    return self.as_strided(plain(sizes), plain(strides), offset.expect_int());
  }
  const DimVector none(sizes.size(), 0);
  const Tensor made = self.as_strided(none, none, 0);
  make_symbolic(made, std::move(sizes), std::move(strides), std::move(offset));
  return made;
}

Tensor symbolic_transpose(const Tensor& self, std::size_t dim0, std::size_t dim1) {
  std::vector<SymInt> sizes = sizes_of(self), strides = strides_of(self);
  std::swap(sizes[dim0], sizes[dim1]);
  std::swap(strides[dim0], strides[dim1]);
  return symbolic_view(self, std::move(sizes), std::move(strides), sym_storage_offset(self));
}

Tensor symbolic_permute(const char* op, const Tensor& self, IntSpan dims) {
  const std::vector<SymInt> own_sizes = sizes_of(self), own_strides = strides_of(self);
  std::vector<SymInt> sizes, strides;
  for (const std::int64_t given : dims) {
    const auto dim = std::size_t(wrap_dim(op, given, self.dim()));
    sizes.push_back(own_sizes[dim]);
    strides.push_back(own_strides[dim]);
  }
  return symbolic_view(self, std::move(sizes), std::move(strides), sym_storage_offset(self));
}

Tensor symbolic_unsqueeze(const Tensor& self, std::size_t dim) {
  std::vector<SymInt> sizes = sizes_of(self), strides = strides_of(self);
  const SymInt step = dim < sizes.size() ? sizes[dim] * strides[dim] : SymInt(1);
  sizes.insert(sizes.begin() + std::ptrdiff_t(dim), SymInt(1));
  strides.insert(strides.begin() + std::ptrdiff_t(dim), step);
  return symbolic_view(self, std::move(sizes), std::move(strides), sym_storage_offset(self));
}

Tensor symbolic_select(const Tensor& self, std::size_t dim, std::int64_t index) {
  std::vector<SymInt> sizes = sizes_of(self), strides = strides_of(self);
  const SymInt first = index < 0 ? sizes[dim] + SymInt(index) : SymInt(index);
  SymInt offset = sym_storage_offset(self) + first * strides[dim];
  sizes.erase(sizes.begin() + std::ptrdiff_t(dim));
  strides.erase(strides.begin() + std::ptrdiff_t(dim));
  return symbolic_view(self, std::move(sizes), std::move(strides), std::move(offset));
}

Tensor symbolic_alias(const Tensor& self) {
  return symbolic_view(self, sizes_of(self), strides_of(self), sym_storage_offset(self));
}

}  // namespace opyard::kernels
