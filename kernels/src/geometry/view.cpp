// kernels/geometry/view.cpp: views that reorder, add and drop dimensions: t, transpose, permute,
// expand, squeeze, unsqueeze, alias, detach, as_strided.
//
// A view shares its storage with self and never copies. These kernels only touch sizes and
// strides, so they serve every backend.
#include <opyard/library.h>
#include <opyard/tensor/broadcast.h>
#include <opyard/tensor/shallow_copy.h>
#include <opyard/tensor/wrapped_stride.h>

#include "common/check.h"
#include "common/symbolic.h"

namespace opyard::kernels {
namespace {

Tensor with_dims_swapped(const char* op, const Tensor& self, std::int64_t dim0, std::int64_t dim1) {
  require_defined(op, "self", self);
  const auto a = std::size_t(wrap_dim(op, dim0, self.dim()));
  const auto b = std::size_t(wrap_dim(op, dim1, self.dim()));
  if (self.dim() == 0) return self.alias();
  if (has_symbolic_sizes(self)) return symbolic_transpose(self, a, b);
  DimVector sizes(self.sizes()), strides(self.strides());
  std::swap(sizes[a], sizes[b]);
  std::swap(strides[a], strides[b]);
  return self.as_strided(sizes, strides, self.storage_offset());
}

Tensor transpose_kernel(const Tensor& self, std::int64_t dim0, std::int64_t dim1) {
  return with_dims_swapped("aten::transpose.int", self, dim0, dim1);
}

Tensor t(const Tensor& self) {
  constexpr const char* kOp = "aten::t";
  require_defined(kOp, "self", self);
  if (self.dim() > 2) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self,
                                 "; accepted are at most two dimensions, and aten::transpose.int "
                                 "swaps two of more"});
  }
  return self.dim() < 2 ? self.alias() : with_dims_swapped(kOp, self, 0, 1);
}

Tensor permute_kernel(const Tensor& self, IntSpan dims) {
  constexpr const char* kOp = "aten::permute";
  require_defined(kOp, "self", self);
  if (std::int64_t(dims.size()) != self.dim()) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, " and dims is ", dims,
                                 "; dims must name each dimension of self once"});
  }
  dim_flags(kOp, dims, self.dim());  // refuses repetitions
  if (has_symbolic_sizes(self)) return symbolic_permute(kOp, self, dims);
  DimVector sizes, strides;
  for (const std::int64_t given : dims) {
    const auto dim = std::size_t(wrap_dim(kOp, given, self.dim()));
    sizes.push_back(self.sizes()[dim]);
    strides.push_back(self.strides()[dim]);
  }
  return self.as_strided(sizes, strides, self.storage_offset());
}

}  // namespace

Tensor expand_to_sizes(const Tensor& self, IntSpan size) {
  constexpr const char* kOp = "aten::expand";
  require_defined(kOp, "self", self);
  return expand_to(kOp, self, size);
}

namespace {

Tensor expand_kernel(const Tensor& self, IntSpan size, bool /*implicit*/) {
  return expand_to_sizes(self, size);
}

// Without the dimensions that have size 1 and are flagged.
template <typename Flagged>
Tensor without_flagged(const Tensor& self, Flagged flagged) {
  DimVector sizes, strides;
  for (std::size_t i = 0; i < self.sizes().size(); ++i) {
    if (self.sizes()[i] == 1 && flagged(i)) continue;
    sizes.push_back(self.sizes()[i]);
    strides.push_back(self.strides()[i]);
  }
  return self.as_strided(sizes, strides, self.storage_offset());
}

Tensor squeeze_kernel(const Tensor& self) {
  require_defined("aten::squeeze", "self", self);
  if (has_symbolic_sizes(self))
    return symbolic_squeeze(self, SmallVector<bool, 8>(std::size_t(self.dim()), true));
  return without_flagged(self, [](std::size_t) { return true; });
}

Tensor squeeze_dim(const Tensor& self, std::int64_t dim) {
  require_defined("aten::squeeze.dim", "self", self);
  const auto at = std::size_t(wrap_dim("aten::squeeze.dim", dim, self.dim()));
  if (has_symbolic_sizes(self)) {
    SmallVector<bool, 8> flags(std::size_t(self.dim()), false);
    flags[at] = true;
    return symbolic_squeeze(self, flags);
  }
  return without_flagged(self, [at](std::size_t i) { return i == at; });
}

Tensor unsqueeze_kernel(const Tensor& self, std::int64_t dim) {
  require_defined("aten::unsqueeze", "self", self);
  const std::int64_t count = self.dim() + 1;
  if (dim < -count || dim >= count) {
    refuse(
        ErrorKind::BadIndex,
        {"aten::unsqueeze: dimension ", dim, " is out of range for a result of ", count,
         count == 1 ? " dimension" : " dimensions", "; accepted are ", -count, " to ", count - 1});
  }
  const auto at = std::size_t(dim < 0 ? dim + count : dim);
  if (has_symbolic_sizes(self)) return symbolic_unsqueeze(self, at);
  DimVector sizes, strides;
  for (std::size_t i = 0; i <= self.sizes().size(); ++i) {
    if (i == at) {
      const bool last = i == self.sizes().size();
      sizes.push_back(1);
      strides.push_back(last ? 1 : wrapped_product(self.strides()[i], self.sizes()[i]));
    }
    if (i == self.sizes().size()) break;
    sizes.push_back(self.sizes()[i]);
    strides.push_back(self.strides()[i]);
  }
  return self.as_strided(sizes, strides, self.storage_offset());
}

Tensor alias(const Tensor& self) {
  require_defined("aten::alias", "self", self);
  return has_symbolic_sizes(self) ? symbolic_alias(self) : shallow_copy(self);
}

Tensor detach_kernel(const Tensor& self) {
  require_defined("aten::detach", "self", self);
  const Tensor result = has_symbolic_sizes(self) ? symbolic_alias(self) : shallow_copy(self);
  // Else it is of a class that holds it already, and did what is needed.
  if (result.impl()->owner_count() == 1) result.impl()->detach();
  return result;
}
// What the tape does before is all that it does.
Tensor& detach_in_place(Tensor& self) {
  require_defined("aten::detach_", "self", self);
  return self;
}

}  // namespace

Tensor restrided(const Tensor& self, IntSpan size, IntSpan stride,
                 std::optional<std::int64_t> storage_offset) {
  require_defined("aten::as_strided", "self", self);
  try {
    return self.as_strided(size, stride, storage_offset.value_or(self.storage_offset()));
  } catch (const Error& error) {
    throw Error(error.kind(), text_of({"aten::as_strided: ", error.what()}), error.carried());
  }
}

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("t(Tensor(a) self) -> Tensor(a)");
  m.def("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)");
  m.def("permute(Tensor(a) self, int[] dims) -> Tensor(a)");
  m.def("expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)");
  m.def("squeeze(Tensor(a) self) -> Tensor(a)");
  m.def("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)");
  m.def("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)");
  m.def("alias(Tensor(a) self) -> Tensor(a)");
  m.def("detach(Tensor(a) self) -> Tensor(a)");
  m.def("detach_(Tensor(a!) self) -> Tensor(a!)", {"inplace_view"});
  m.def(
      "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, "
      "SymInt? storage_offset=None) -> Tensor(a)");
}

OPYARD_LIBRARY_IMPL(aten, CompositeExplicitAutograd, m) {
  m.impl("t", &t);
  m.impl("transpose.int", &transpose_kernel);
  m.impl("permute", &permute_kernel);
  m.impl("expand", &expand_kernel);
  m.impl("squeeze", &squeeze_kernel);
  m.impl("squeeze.dim", &squeeze_dim);
  m.impl("unsqueeze", &unsqueeze_kernel);
  m.impl("alias", &alias);
  m.impl("detach", &detach_kernel);
  m.impl("detach_", &detach_in_place);
  m.impl("as_strided", &restrided);
}

}  // namespace opyard::kernels
