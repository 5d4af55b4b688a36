// kernels/geometry/reshape.cpp: the same elements under other sizes: view, reshape, flatten.
//
// view never copies and refuses if it would have to; reshape copies then. See
// tensor/view_strides.cpp.
#include <opyard/library.h>
#include <opyard/tensor/views.h>

#include "common/check.h"
#include "common/symbolic.h"
#include "geometry/symbolic_calls.h"

namespace opyard::kernels {

Tensor view_with_sizes(const Tensor& self, IntSpan size) {
  constexpr const char* kOp = "aten::view";
  require_defined(kOp, "self", self);
  const DimVector sizes = infer_sizes(kOp, size, self.numel());
  const std::optional<DimVector> strides = find_view_strides(self, sizes);
  if (!strides) {
    refuse(ErrorKind::BadShape,
           {kOp, ": self is ", self, " with strides ", self.strides(),
            ", whose elements are not ordered so that sizes ", sizes,
            " could show them without a copy; aten::reshape copies where it has to"});
  }
  return self.as_strided(sizes, *strides, self.storage_offset());
}

namespace {

Tensor reshape_kernel(const Tensor& self, IntSpan shape) {
  using View = Tensor(const Tensor&, IntSpan);
  using Clone = Tensor(const Tensor&, std::optional<MemoryFormat>);
  static constinit FoundOperator<View> view("aten::view");
  static constinit FoundOperator<Clone> clone("aten::clone");
  require_defined("aten::reshape", "self", self);
  if (has_symbolic_sizes(self)) return view.call(self, shape);
  const DimVector sizes = infer_sizes("aten::reshape", shape, self.numel());
  if (find_view_strides(self, sizes)) return view.call(self, sizes);
  return view.call(clone.call(self, MemoryFormat::Contiguous), sizes);
}

Tensor flatten(const Tensor& self, std::int64_t start_dim, std::int64_t end_dim) {
  constexpr const char* kOp = "aten::flatten.using_ints";
  using Reshape = Tensor(const Tensor&, IntSpan);
  static constinit FoundOperator<Reshape> op("aten::reshape");
  require_defined(kOp, "self", self);
  const std::int64_t start = wrap_dim(kOp, start_dim, self.dim());
  const std::int64_t end = wrap_dim(kOp, end_dim, self.dim());
  if (start > end) {
    refuse(ErrorKind::BadValue, {kOp, ": start_dim is ", start_dim, " and end_dim is ", end_dim,
                                 "; start_dim must not come after end_dim"});
  }
  if (self.dim() == 0) return op.call(self, std::array{std::int64_t{1}});
  if (has_symbolic_sizes(self)) return symbolic_flatten(self, std::size_t(start), std::size_t(end));
  DimVector sizes(self.sizes().first(std::size_t(start)));
  const auto count = std::size_t(end - start + 1);
  sizes.push_back(count_elements(self.sizes().subspan(std::size_t(start), count)));
  for (const std::int64_t size : self.sizes().subspan(std::size_t(end + 1))) sizes.push_back(size);
  return op.call(self, sizes);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("view(Tensor(a) self, SymInt[] size) -> Tensor(a)");
  m.def("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
        Kernel::with_symbolic<&reshape_kernel, &symbolic_reshape>());
  m.def("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
        &flatten);
}

OPYARD_LIBRARY_IMPL(aten, CompositeExplicitAutograd, m) { m.impl("view", &view_with_sizes); }

}  // namespace opyard::kernels
