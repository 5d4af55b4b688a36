// kernels/common/symbolic.h: views of tensors with symbolic sizes. They compute in SymInts, and
// decide nothing.
//
// Depends on: common/check.h, opyard/value/sym_tensor.h.
#pragma once

#include <opyard/value/sym_tensor.h>

#include <optional>
#include <span>
#include <vector>

#include "common/check.h"

namespace opyard::kernels {

inline bool has_symbolic_sizes(const Tensor& x) noexcept {
  return x.impl()->has_policy(TensorImpl::kSymbolic);
}

// A tensor without elements on meta, row-major; symbolic if one of its sizes is.
Tensor empty_on_meta(const char* op, const std::vector<SymInt>& sizes, DType dtype);
// The same memory as self under this geometry.
Tensor symbolic_view(const Tensor& self, std::vector<SymInt> sizes, std::vector<SymInt> strides,
                     SymInt offset);

// aten::view, expand, slice.Tensor, narrow, select.int and as_strided for plain numbers:
// reshape.cpp, view.cpp, slice.cpp.
Tensor view_with_sizes(const Tensor& self, IntSpan size);
Tensor expand_to_sizes(const Tensor& self, IntSpan size);
Tensor slice_with_bounds(const Tensor& self, std::int64_t dim, std::optional<std::int64_t> start,
                         std::optional<std::int64_t> end, std::int64_t step);
Tensor narrow_to_part(const Tensor& self, std::int64_t dim, std::int64_t start,
                      std::int64_t length);
Tensor select_place(const Tensor& self, std::int64_t dim, std::int64_t index);
Tensor restrided(const Tensor& self, IntSpan size, IntSpan stride,
                 std::optional<std::int64_t> storage_offset);

// The number of elements in a dimension of self, of which another size may be symbolic. Raises
// BadValue, naming the operator, if this one is.
std::int64_t require_plain_size(const char* op, const Tensor& self, std::int64_t dim);

// In place of a -1 what is left of `whole()` for it, which is asked for only then.
template <typename Whole>
void fill_open_size(std::vector<SymInt>& sizes, const Whole& whole) {
  SymInt known(1);
  SymInt* open = nullptr;
  for (SymInt& size : sizes) {
    if (!size.is_symbolic() && size.expect_int() == -1 && open == nullptr) {
      open = &size;
    } else {
      known = known * size;
    }
  }
  if (open != nullptr) *open = whole() / known;
}

Tensor symbolic_transpose(const Tensor& self, std::size_t dim0, std::size_t dim1);
Tensor symbolic_permute(const char* op, const Tensor& self, IntSpan dims);
Tensor symbolic_unsqueeze(const Tensor& self, std::size_t dim);
// `index` from the front, or from the end if it is negative; whether it is in range is not known.
Tensor symbolic_select(const Tensor& self, std::size_t dim, const SymInt& index);
// Bounds as in Python: negative ones count from the end, and what is outside is moved to the edge.
Tensor symbolic_slice(const Tensor& self, std::size_t dim, const std::optional<SymInt>& start,
                      const std::optional<SymInt>& end, std::int64_t step);
// Whether the part fits is not known.
Tensor symbolic_narrow(const Tensor& self, std::size_t dim, const SymInt& start,
                       const SymInt& length);
// Without the flagged dimensions of size 1. A size that is not known is taken not to be 1.
Tensor symbolic_squeeze(const Tensor& self, std::span<const bool> flags);
// Calls aten::view with sizes that may be symbolic.
Tensor call_view(const Tensor& self, std::vector<SymInt> sizes);
// The dimensions from `start` to `end` as one.
Tensor symbolic_flatten(const Tensor& self, std::size_t start, std::size_t end);
Tensor symbolic_alias(const Tensor& self);

}  // namespace opyard::kernels
