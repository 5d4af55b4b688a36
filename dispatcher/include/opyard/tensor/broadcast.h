// opyard/tensor/broadcast.h: broadcasting: common sizes, strides of what is expanded, and refusals.
//
//   find_broadcast(a.sizes(), b.sizes())     the sizes that both broadcast to, or nothing
//   can_expand(bias.sizes(), y.sizes())      whether bias broadcasts to exactly the sizes of y
//   expand_strides(sizes, strides, to, out)  0 for each dimension that is repeated
//
// Sizes are compared from the last dimension on. Two sizes fit if they are equal or one of them is
// 1; a dimension that is missing in front counts as 1. A size is a number or, in a template, any
// type with is_symbolic() and expect_int(): one that is symbolic fits every size but a known 1 that
// is not repeated, is not taken to be 1, and gives way to a known one.
//
// Whoever refuses sizes finds the dimension to blame with find_clash(), if either operand could
// change (find_clashing_pair() of more), or find_misfit(), if one has to fit the other, and calls
// refuse_broadcast() or refuse_misfit(). No one else words these.
//
// Depends on: tensor/tensor.h.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/tensor/tensor.h"

namespace opyard {

namespace detail {

template <typename Size>
bool is_known_one(const Size& size) {
  if constexpr (std::integral<Size>) {
    return size == 1;
  } else {
    return !size.is_symbolic() && size.expect_int() == 1;
  }
}

template <typename Size>
bool is_unknown(const Size& size) {
  if constexpr (std::integral<Size>) {
    return false;
  } else {
    return size.is_symbolic();
  }
}

template <typename Size>
std::int64_t known_size(const Size& size) {
  if constexpr (std::integral<Size>) {
    return size;
  } else {
    return size.expect_int();
  }
}

}  // namespace detail

// Whether two sizes that have to be equal may be so.
template <typename Size>
bool may_be_equal(const Size& a, const Size& b) {
  return detail::is_unknown(a) || detail::is_unknown(b) ||
         detail::known_size(a) == detail::known_size(b);
}

// A dimension in which two operands do not fit, counted from the last, which is -1, and what its
// size is in either; 0 if there is none. The size of a dimension that is missing is -1.
struct SizeClash {
  std::int64_t dim = 0;
  std::int64_t of_first = 0, of_second = 0;
  explicit operator bool() const noexcept { return dim != 0; }
};

// Why two operands do not broadcast with each other.
template <typename Size>
SizeClash find_clash(std::span<const Size> a, std::span<const Size> b) {
  for (std::size_t back = 1; back <= std::min(a.size(), b.size()); ++back) {
    const Size &left = a[a.size() - back], &right = b[b.size() - back];
    if (detail::is_known_one(left) || detail::is_known_one(right) || may_be_equal(left, right)) {
      continue;
    }
    return {-std::int64_t(back), detail::known_size(left), detail::known_size(right)};
  }
  return {};
}

// The first two of some operands that do not broadcast with each other, by their numbers, and why.
struct ClashingPair {
  std::size_t first = 0, second = 0;
  SizeClash clash;
  explicit operator bool() const noexcept { return bool(clash); }
};

// `clash_of(i, j)` is the SizeClash of two operands.
template <typename ClashOf>
ClashingPair find_clashing_pair(std::size_t count, const ClashOf& clash_of) {
  for (std::size_t second = 1; second < count; ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (const SizeClash clash = clash_of(first, second)) return {first, second, clash};
    }
  }
  return {};
}

// Why sizes cannot be expanded to `to`.
template <typename Size>
SizeClash find_misfit(std::span<const Size> sizes, std::span<const Size> to) {
  if (sizes.size() > to.size()) return {-std::int64_t(to.size() + 1), 0, -1};
  for (std::size_t back = 1; back <= sizes.size(); ++back) {
    const Size &own = sizes[sizes.size() - back], &wanted = to[to.size() - back];
    if (detail::is_known_one(own) || may_be_equal(own, wanted)) continue;
    return {-std::int64_t(back), detail::known_size(own), detail::known_size(wanted)};
  }
  return {};
}

// The same for sizes that have to be exactly `to`, as a tensor's that a result is written to.
inline SizeClash find_difference(IntSpan sizes, IntSpan to) {
  if (sizes.size() != to.size()) {
    return {-std::int64_t(std::min(sizes.size(), to.size()) + 1), sizes.size() < to.size() ? -1 : 0,
            sizes.size() < to.size() ? 0 : -1};
  }
  for (std::size_t back = 1; back <= sizes.size(); ++back) {
    const std::int64_t own = sizes[sizes.size() - back], wanted = to[to.size() - back];
    if (own != wanted) return {-std::int64_t(back), own, wanted};
  }
  return {};
}

template <typename Size>
bool can_expand(std::span<const Size> sizes, std::span<const Size> to) {
  return !find_misfit(sizes, to);
}
inline bool can_expand(IntSpan sizes, IntSpan to) { return can_expand<std::int64_t>(sizes, to); }

namespace detail {

// `common` holds sizes of at least as many dimensions as `other`; false if they do not broadcast.
template <typename Sizes, typename Size>
bool join_sizes(Sizes& common, std::span<const Size> other) {
  const std::size_t added = common.size() - other.size();
  for (std::size_t i = 0; i < other.size(); ++i) {
    Size& size = common[added + i];
    if (is_known_one(other[i])) continue;
    if (!is_known_one(size) && !may_be_equal(size, other[i])) return false;
    if (is_known_one(size) || (is_unknown(size) && !is_unknown(other[i]))) size = other[i];
  }
  return true;
}

}  // namespace detail

// The sizes that two operands broadcast to, or nothing if they do not fit.
inline std::optional<DimVector> find_broadcast(IntSpan a, IntSpan b) {
  if (a.size() < b.size()) std::swap(a, b);
  std::optional<DimVector> common(a);
  if (!detail::join_sizes(*common, b)) common.reset();
  return common;
}
template <typename Size>
std::optional<std::vector<Size>> find_broadcast(std::span<const Size> a, std::span<const Size> b) {
  if (a.size() < b.size()) std::swap(a, b);
  std::optional<std::vector<Size>> common(std::in_place, a.begin(), a.end());
  if (!detail::join_sizes(*common, b)) common.reset();
  return common;
}

// The stride of a dimension that is expanded from one size to another.
template <typename Size>
Size expanded_stride(const Size& size, const Size& to, const Size& stride) {
  return detail::is_known_one(size) && !detail::is_known_one(to) ? Size(0) : stride;
}

// Those of a tensor, for sizes that it can be expanded to.
template <typename Size, typename Strides>
void expand_strides(std::span<const Size> sizes, std::span<const Size> strides,
                    std::span<const Size> to, Strides& expanded) {
  const std::size_t added = to.size() - sizes.size();
  expanded.resize(to.size(), Size(0));
  for (std::size_t i = 0; i < added; ++i) expanded[i] = Size(0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    expanded[added + i] = expanded_stride(sizes[i], to[added + i], strides[i]);
  }
}

// A size of -1 keeps the one that it meets.
template <typename Sizes, typename Size>
void keep_sizes(Sizes& to, std::span<const Size> sizes) {
  for (std::size_t back = 1; back <= std::min(sizes.size(), to.size()); ++back) {
    Size& size = to[to.size() - back];
    if (!detail::is_unknown(size) && detail::known_size(size) == -1) {
      size = sizes[sizes.size() - back];
    }
  }
}

// The view of a tensor, `self` in a refusal, whose sizes are `size`, of which -1 keeps one. Raises
// BadShape.
OPYARD_API Tensor expand_to(std::string_view op, const Tensor& self, IntSpan size);

// An operand in a refusal: its name, and a tensor or sizes.
struct OPYARD_API ShownOperand {
  ShownOperand(std::string_view name, const Tensor& tensor);
  ShownOperand(std::string_view name, IntSpan sizes);
  ShownOperand(std::string_view name, const DimVector& sizes);
  ShownOperand(std::string_view name, std::string text, std::size_t dims);
  std::string name, text;
  std::size_t dims;
};

// The errors; `op` is the operator that was called. Raise BadShape.
//
//   aten::add.Tensor: self is float32[2, 3] and other is float32[4], which do not broadcast:
//   dimension -1 is 3 in one and 4 in the other, and must be equal or 1 in one of them
[[noreturn]] OPYARD_API OPYARD_COLD void refuse_broadcast(std::string_view op,
                                                          const ShownOperand& first,
                                                          const ShownOperand& second,
                                                          const SizeClash& clash);
//   aten::copy_: src is float32[3] and does not fit self, which is float32[2, 4]: dimension -1 of
//   src is 3, and must be 4 or 1
[[noreturn]] OPYARD_API OPYARD_COLD void refuse_misfit(std::string_view op,
                                                       const ShownOperand& source,
                                                       const ShownOperand& target,
                                                       const SizeClash& misfit);
// The same where the target is what has to change, to the sizes of the source: find_difference().
[[noreturn]] OPYARD_API OPYARD_COLD void refuse_target(std::string_view op,
                                                       const ShownOperand& source,
                                                       const ShownOperand& target,
                                                       const SizeClash& difference);

}  // namespace opyard
