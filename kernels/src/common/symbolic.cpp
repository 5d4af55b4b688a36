// kernels/common/symbolic.cpp: geometry of tensors whose sizes only their elements tell.
//
// A size that is computed from SymInts is one itself; no kernel here compares two of them, since
// that would ask the reasoner to decide what a fake kernel cannot know.
#include "common/symbolic.h"

#include <opyard/library.h>

#include <algorithm>
#include <limits>

namespace opyard::kernels {
namespace {

std::vector<SymInt> symbolic_sizes_of(const Tensor& self) {
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

// What traces of models give for a missing end.
constexpr std::int64_t kLastPlace = std::numeric_limits<std::int64_t>::max();

bool is_plain_number(const SymInt& word, std::int64_t number) {
  return !word.is_symbolic() && word.expect_int() == number;
}
bool is_from_end(const SymInt& place) { return !place.is_symbolic() && place.expect_int() < 0; }

}  // namespace

std::int64_t require_plain_size(const char* op, const Tensor& self, std::int64_t dim) {
  if (!has_symbolic_sizes(self)) return self.size(dim);
  const SymInt& size = sym_sizes(self)[std::size_t(dim)];
  OPYARD_REQUIRE(!size.is_symbolic(), BadValue, op, ": the size of dimension ", dim, " of self is ",
                 to_string(size), ", which the elements tell, and a known one is needed");
  return size.expect_int();
}

Tensor empty_on_meta(const char* op, const std::vector<SymInt>& sizes, DType dtype) {
  if (is_plain(sizes)) {
    require_sizes_of(op, "size", plain(sizes), dtype);
  } else {
    for (const SymInt& size : sizes) {
      if (!size.is_symbolic()) require_sizes(op, std::array{size.expect_int()});
    }
  }
  return empty_symbolic(sizes, dtype);
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
  std::vector<SymInt> sizes = symbolic_sizes_of(self), strides = strides_of(self);
  std::swap(sizes[dim0], sizes[dim1]);
  std::swap(strides[dim0], strides[dim1]);
  return symbolic_view(self, std::move(sizes), std::move(strides), sym_storage_offset(self));
}

Tensor symbolic_permute(const char* op, const Tensor& self, IntSpan dims) {
  const std::vector<SymInt> own_sizes = symbolic_sizes_of(self), own_strides = strides_of(self);
  std::vector<SymInt> sizes, strides;
  for (const std::int64_t given : dims) {
    const auto dim = std::size_t(wrap_dim(op, given, self.dim()));
    sizes.push_back(own_sizes[dim]);
    strides.push_back(own_strides[dim]);
  }
  return symbolic_view(self, std::move(sizes), std::move(strides), sym_storage_offset(self));
}

Tensor symbolic_unsqueeze(const Tensor& self, std::size_t dim) {
  std::vector<SymInt> sizes = symbolic_sizes_of(self), strides = strides_of(self);
  const SymInt step = dim < sizes.size() ? sizes[dim] * strides[dim] : SymInt(1);
  sizes.insert(sizes.begin() + std::ptrdiff_t(dim), SymInt(1));
  strides.insert(strides.begin() + std::ptrdiff_t(dim), step);
  return symbolic_view(self, std::move(sizes), std::move(strides), sym_storage_offset(self));
}

Tensor symbolic_select(const Tensor& self, std::size_t dim, const SymInt& index) {
  std::vector<SymInt> sizes = symbolic_sizes_of(self), strides = strides_of(self);
  if (!sizes[dim].is_symbolic() && !index.is_symbolic()) {
    const std::int64_t size = sizes[dim].expect_int(), place = index.expect_int();
    OPYARD_REQUIRE(place >= -size && place < size, BadIndex, "aten::select.int: index is ", place,
                   ", out of range for dimension ", dim, " of self, whose size is ", size);
  }
  const SymInt first = is_from_end(index) ? sizes[dim] + index : index;
  SymInt offset = sym_storage_offset(self) + first * strides[dim];
  sizes.erase(sizes.begin() + std::ptrdiff_t(dim));
  strides.erase(strides.begin() + std::ptrdiff_t(dim));
  return symbolic_view(self, std::move(sizes), std::move(strides), std::move(offset));
}

Tensor symbolic_narrow(const Tensor& self, std::size_t dim, const SymInt& start,
                       const SymInt& length) {
  std::vector<SymInt> sizes = symbolic_sizes_of(self), strides = strides_of(self);
  const SymInt first = is_from_end(start) ? sizes[dim] + start : start;
  if (!sizes[dim].is_symbolic() && !first.is_symbolic() && !length.is_symbolic()) {
    const std::int64_t size = sizes[dim].expect_int(), from = first.expect_int();
    const std::int64_t count = length.expect_int();
    OPYARD_REQUIRE(from >= 0 && from <= size && count >= 0 && count <= size - from, BadIndex,
                   "aten::narrow: start ", start.expect_int(), " and length ", count,
                   " leave dimension ", dim, " of self, whose size is ", size);
  }
  SymInt offset = sym_storage_offset(self) + first * strides[dim];
  sizes[dim] = length;
  return symbolic_view(self, std::move(sizes), std::move(strides), std::move(offset));
}

Tensor symbolic_slice(const Tensor& self, std::size_t dim, const std::optional<SymInt>& start,
                      const std::optional<SymInt>& end, std::int64_t step) {
  const SymInt size = symbolic_sizes_of(self)[dim];
  const auto bound = [&](const SymInt& given) {
    if (is_plain_number(given, 0)) return given;
    return is_from_end(given) ? max(size + given, SymInt(0)) : min(given, size);
  };
  const bool is_whole = !end.has_value() || is_plain_number(*end, kLastPlace);
  const SymInt first = start.has_value() ? bound(*start) : SymInt(0);
  const SymInt last = is_whole ? size : bound(*end);
  SymInt length = is_plain_number(first, 0) ? last : max(last - first, SymInt(0));
  if (step != 1) length = (length + SymInt(step - 1)) / SymInt(step);
  Tensor part = symbolic_narrow(self, dim, first, length);
  if (step == 1) return part;
  std::vector<SymInt> strides = strides_of(part);
  strides[dim] = strides[dim] * SymInt(step);
  return symbolic_view(part, symbolic_sizes_of(part), std::move(strides), sym_storage_offset(part));
}

Tensor symbolic_squeeze(const Tensor& self, std::span<const bool> flags) {
  const std::vector<SymInt> own_sizes = symbolic_sizes_of(self), own_strides = strides_of(self);
  std::vector<SymInt> sizes, strides;
  for (std::size_t i = 0; i < own_sizes.size(); ++i) {
    if (flags[i] && is_plain_number(own_sizes[i], 1)) continue;
    sizes.push_back(own_sizes[i]);
    strides.push_back(own_strides[i]);
  }
  return symbolic_view(self, std::move(sizes), std::move(strides), sym_storage_offset(self));
}

Tensor call_view(const Tensor& self, std::vector<SymInt> sizes) {
  static const Operator& op = require_operator("aten::view");
  Stack stack;
  stack.push(Value(self));
  stack.push(ValueCast<std::vector<SymInt>>::to(std::move(sizes)));
  op.call_boxed(stack);
  return stack.pop().to_tensor();
}

Tensor symbolic_flatten(const Tensor& self, std::size_t start, std::size_t end) {
  std::vector<SymInt> sizes = symbolic_sizes_of(self);
  for (std::size_t i = start + 1; i <= end; ++i) sizes[start] = sizes[start] * sizes[i];
  sizes.erase(sizes.begin() + std::ptrdiff_t(start) + 1, sizes.begin() + std::ptrdiff_t(end) + 1);
  return call_view(self, std::move(sizes));
}

Tensor symbolic_alias(const Tensor& self) {
  return symbolic_view(self, symbolic_sizes_of(self), strides_of(self), sym_storage_offset(self));
}

}  // namespace opyard::kernels
