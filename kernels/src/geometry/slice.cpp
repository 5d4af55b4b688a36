// kernels/geometry/slice.cpp: views of a part of one dimension: select, slice, narrow.
//
// Like all views they only touch geometry, and serve every backend.
#include <opyard/library.h>
#include <opyard/tensor/wrapped_stride.h>

#include <algorithm>

#include "common/check.h"
#include "common/symbolic.h"

namespace opyard::kernels {
namespace {

// Elements start, start + step, … below start + length * step.
Tensor part(const Tensor& self, std::size_t at, std::int64_t start, std::int64_t length,
            std::int64_t step) {
  DimVector sizes(self.sizes()), strides(self.strides());
  // A slice without elements: its offset must not move past an end of the storage.
  const std::int64_t skipped = self.numel() == 0 || length == 0 ? 0 : start * strides[at];
  sizes[at] = length;
  if (length > 1) strides[at] = wrapped_product(strides[at], step);
  return self.as_strided(sizes, strides, self.storage_offset() + skipped);
}

}  // namespace

Tensor select_place(const Tensor& self, std::int64_t dim, std::int64_t index) {
  constexpr const char* kOp = "aten::select.int";
  const std::size_t at = require_slice_dim(kOp, self, dim);
  if (has_symbolic_sizes(self)) return symbolic_select(self, at, index);
  const std::int64_t size = self.sizes()[at];
  require_index(kOp, "index", index, at, self);
  DimVector sizes, strides;
  for (std::size_t i = 0; i < self.sizes().size(); ++i) {
    if (i == at) continue;
    sizes.push_back(self.sizes()[i]);
    strides.push_back(self.strides()[i]);
  }
  const std::int64_t first = index < 0 ? index + size : index;
  const std::int64_t skipped = self.numel() == 0 ? 0 : first * self.strides()[at];
  return self.as_strided(sizes, strides, self.storage_offset() + skipped);
}

Tensor slice_with_bounds(const Tensor& self, std::int64_t dim, std::optional<std::int64_t> start,
                         std::optional<std::int64_t> end, std::int64_t step) {
  constexpr const char* kOp = "aten::slice.Tensor";
  const std::size_t at = require_slice_dim(kOp, self, dim);
  if (step <= 0) {
    refuse(ErrorKind::BadValue, {kOp, ": step is ", step, "; accepted are 1 and more"});
  }
  if (has_symbolic_sizes(self)) {
    const auto sym = [](auto bound) {
      return bound ? std::optional(SymInt(*bound)) : std::nullopt;
    };
    return symbolic_slice(self, at, sym(start), sym(end), step);
  }
  const std::int64_t size = self.sizes()[at];
  // As in Python: negative bounds count from the end, and bounds outside are moved to the edge.
  const auto bound = [size](std::int64_t value) {
    return std::clamp(value < 0 ? value + size : value, std::int64_t{0}, size);
  };
  const std::int64_t first = bound(start.value_or(0));
  const std::int64_t last = std::max(first, bound(end.value_or(size)));
  const std::int64_t span = last - first;
  return part(self, at, first, span / step + (span % step != 0 ? 1 : 0), step);
}

Tensor narrow_to_part(const Tensor& self, std::int64_t dim, std::int64_t start,
                      std::int64_t length) {
  constexpr const char* kOp = "aten::narrow";
  const std::size_t at = require_slice_dim(kOp, self, dim);
  if (has_symbolic_sizes(self)) return symbolic_narrow(self, at, start, length);
  const std::int64_t size = self.sizes()[at];
  const std::int64_t first = start < 0 ? start + size : start;
  if (start < -size || start > size || length < 0 || length > size - first) {
    refuse(ErrorKind::BadIndex,
           {kOp, ": start ", start, " and length ", length, " leave dimension ", at,
            " of self, which is ", self, "; start must be ", -size, " to ", size,
            ", and length 0 to what is left from there"});
  }
  return part(self, at, first, length, 1);
}

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)");
  m.def(
      "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, "
      "SymInt step=1) -> Tensor(a)");
  m.def("narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)");
}

OPYARD_LIBRARY_IMPL(aten, CompositeExplicitAutograd, m) {
  m.impl("select.int", &select_place);
  m.impl("slice.Tensor", &slice_with_bounds);
  m.impl("narrow", &narrow_to_part);
}

}  // namespace opyard::kernels
