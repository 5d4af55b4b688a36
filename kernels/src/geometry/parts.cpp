// kernels/geometry/parts.cpp: views of several parts, or of part of the dimensions: chunk, split,
// unbind, squeeze.dims, diagonal, unfold, movedim and their like.
//
// They only touch geometry, and serve every backend.
#include <algorithm>
#include <numeric>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/define.h"
#include "common/ops.h"
#include "common/options.h"
#include "common/symbolic_results.h"
#include "geometry/symbolic_calls.h"
#include "loops/element.h"
#include "opyard/tensor/wrapped_stride.h"

namespace opyard::kernels {
namespace {

std::int64_t require_part_dim(const char* op, const Tensor& self, std::int64_t dim) {
  require_defined(op, "self", self);
  if (self.dim() == 0) {
    refuse(ErrorKind::BadShape, {op, ": self is ", self, "; at least one dimension is needed"});
  }
  return wrap_dim(op, dim, self.dim());
}

Tensors split_with_sizes(const Tensor& self, IntSpan split_sizes, std::int64_t dim) {
  constexpr const char* kOp = "aten::split_with_sizes";
  const std::int64_t at = require_part_dim(kOp, self, dim);
  std::int64_t all = 0;
  bool fits = true;
  for (const std::int64_t size : split_sizes) {
    fits = fits && size >= 0 && !__builtin_add_overflow(all, size, &all);
  }
  const std::int64_t own = require_plain_size(kOp, self, at);
  if (!fits || all != own) {
    refuse(ErrorKind::BadShape,
           {kOp, ": split_sizes are ", split_sizes, ", and dimension ", at, " of self, which is ",
            self, ", has ", own, " elements; sizes of 0 and more with that sum are needed"});
  }
  Tensors parts;
  std::int64_t start = 0;
  for (const std::int64_t size : split_sizes) {
    parts.push_back(ops::slice(self, at, start, start + size));
    start += size;
  }
  return parts;
}

Tensors split(const Tensor& self, std::int64_t split_size, std::int64_t dim) {
  constexpr const char* kOp = "aten::split.Tensor";
  const std::int64_t at = require_part_dim(kOp, self, dim);
  const std::int64_t all = require_plain_size(kOp, self, at);
  if (split_size < 0 || (split_size == 0 && all != 0)) {
    refuse(ErrorKind::BadValue, {kOp, ": split_size is ", split_size, " and self is ", self,
                                 "; 1 or more is needed, or 0 for a dimension without elements"});
  }
  Tensors parts;
  std::int64_t start = 0;
  do {
    parts.push_back(ops::slice(self, at, start, std::min(start + split_size, all)));
    start += split_size;
  } while (start < all);
  return parts;
}
Tensors split_sizes(const Tensor& self, IntSpan sizes, std::int64_t dim) {
  return named("aten::split.sizes", "aten::split_with_sizes",
               [&] { return split_with_sizes(self, sizes, dim); });
}

Tensors chunk(const Tensor& self, std::int64_t chunks, std::int64_t dim) {
  constexpr const char* kOp = "aten::chunk";
  const std::int64_t at = require_part_dim(kOp, self, dim);
  if (chunks <= 0) {
    refuse(ErrorKind::BadValue, {kOp, ": chunks is ", chunks, "; 1 or more is needed"});
  }
  const std::int64_t all = require_plain_size(kOp, self, at);
  if (all == 0) {
    return split_with_sizes(self, DimVector(std::size_t(chunks), std::int64_t{0}), at);
  }
  return split(self, all / chunks + (all % chunks != 0 ? 1 : 0), at);
}

Tensors unbind(const Tensor& self, std::int64_t dim) {
  constexpr const char* kOp = "aten::unbind.int";
  const std::int64_t at = require_part_dim(kOp, self, dim);
  const std::int64_t count = require_plain_size(kOp, self, at);
  Tensors parts;
  for (std::int64_t i = 0; i < count; ++i) parts.push_back(ops::select(self, at, i));
  return parts;
}

Tensors tensor_split(const Tensor& self, std::int64_t sections, std::int64_t dim) {
  constexpr const char* kOp = "aten::tensor_split.sections";
  const std::int64_t at = require_part_dim(kOp, self, dim);
  if (sections <= 0) {
    refuse(ErrorKind::BadValue, {kOp, ": sections is ", sections, "; 1 or more is needed"});
  }
  const std::int64_t all = require_plain_size(kOp, self, at);
  DimVector sizes(std::size_t(sections), all / sections);
  for (std::int64_t i = 0; i < all % sections; ++i) ++sizes[std::size_t(i)];
  return split_with_sizes(self, sizes, at);
}
Tensors tensor_split_at(const Tensor& self, IntSpan indices, std::int64_t dim) {
  const std::int64_t at = require_part_dim("aten::tensor_split.indices", self, dim);
  Tensors parts;
  std::int64_t start = 0;
  for (const std::int64_t end : indices) {
    parts.push_back(ops::slice(self, at, start, end));
    start = end;
  }
  parts.push_back(ops::slice(self, at, start, std::nullopt));
  return parts;
}

Tensor squeeze_dims(const Tensor& self, IntSpan dims) {
  constexpr const char* kOp = "aten::squeeze.dims";
  require_defined(kOp, "self", self);
  const SmallVector<bool, 8> flags = dim_flags(kOp, dims, self.dim());
  if (has_symbolic_sizes(self)) return symbolic_squeeze(self, flags);
  DimVector sizes, strides;
  for (std::size_t i = 0; i < self.sizes().size(); ++i) {
    if (flags[i] && self.sizes()[i] == 1) continue;
    sizes.push_back(self.sizes()[i]);
    strides.push_back(self.strides()[i]);
  }
  return self.as_strided(sizes, strides, self.storage_offset());
}

Tensor diagonal(const Tensor& self, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  constexpr const char* kOp = "aten::diagonal";
  require_defined(kOp, "self", self);
  const auto a = std::size_t(wrap_dim(kOp, dim1, self.dim()));
  const auto b = std::size_t(wrap_dim(kOp, dim2, self.dim()));
  if (a == b || self.dim() < 2) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, ", dim1 is ", dim1, " and dim2 is ", dim2,
                                 "; two different dimensions are needed"});
  }
  if (has_symbolic_sizes(self)) return symbolic_diagonal(self, offset, a, b);
  const std::int64_t rows = self.sizes()[a], columns = self.sizes()[b];
  std::int64_t length = 0;
  if (offset >= 0 ? offset < columns : offset > -rows) {
    length = offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns);
  }
  DimVector sizes, strides;
  for (std::size_t i = 0; i < self.sizes().size(); ++i) {
    if (i == a || i == b) continue;
    sizes.push_back(self.sizes()[i]);
    strides.push_back(self.strides()[i]);
  }
  sizes.push_back(length);
  strides.push_back(wrapped_sum(self.strides()[a], self.strides()[b]));
  std::int64_t begin = self.storage_offset();
  if (length > 0 && self.numel() != 0)
    begin += offset >= 0 ? offset * self.strides()[b] : -offset * self.strides()[a];
  return self.as_strided(sizes, strides, begin);
}

// Windows along one dimension.
Tensor unfold(const Tensor& self, std::int64_t dimension, std::int64_t size, std::int64_t step) {
  constexpr const char* kOp = "aten::unfold";
  require_defined(kOp, "self", self);
  const auto at = std::size_t(wrap_dim(kOp, dimension, self.dim()));
  const std::int64_t all = self.dim() == 0 ? 1 : self.sizes()[at];
  std::int64_t windows = 0;
  if (size < 0 || size > all || step <= 0 ||
      __builtin_add_overflow((all - size) / step, std::int64_t{1}, &windows)) {
    refuse(ErrorKind::BadValue, {kOp, ": size is ", size, " and step is ", step, ", and self is ",
                                 self, "; accepted are a size of 0 to ", all,
                                 " and a step of 1 or more, with windows that can "
                                 "be counted"});
  }
  DimVector sizes(self.sizes()), strides(self.strides());
  const std::int64_t stride = self.dim() == 0 ? 1 : strides[at];
  if (self.dim() > 0) {
    sizes[at] = windows;
    strides[at] = multiply(stride, step);  // wraps only where there is one window
  }
  sizes.push_back(size);
  strides.push_back(stride);
  return self.as_strided(sizes, strides, self.storage_offset());
}

Tensor movedim(const Tensor& self, IntSpan source, IntSpan destination) {
  constexpr const char* kOp = "aten::movedim.intlist";
  require_defined(kOp, "self", self);
  if (source.size() != destination.size()) {
    refuse(ErrorKind::BadValue, {kOp, ": source is ", source, " and destination is ", destination,
                                 "; as many of each are needed"});
  }
  const SmallVector<bool, 8> taken = dim_flags(kOp, source, self.dim());
  dim_flags(kOp, destination, self.dim());  // refuses repetitions
  DimVector order(std::size_t(self.dim()), -1);
  if (self.dim() == 0) return ops::permute(self, order);
  for (std::size_t i = 0; i < source.size(); ++i) {
    order[std::size_t(wrap_dim(kOp, destination[i], self.dim()))] =
        wrap_dim(kOp, source[i], self.dim());
  }
  std::size_t next = 0;
  for (std::int64_t& dim : order) {
    if (dim >= 0) continue;
    while (taken[next]) ++next;
    dim = std::int64_t(next++);
  }
  return ops::permute(self, order);
}
Tensor movedim_int(const Tensor& self, std::int64_t source, std::int64_t destination) {
  return named("aten::movedim.int", "aten::movedim.intlist",
               [&] { return movedim(self, IntSpan(&source, 1), IntSpan(&destination, 1)); });
}

Tensor expand_as(const Tensor& self, const Tensor& other) {
  require_expandable("aten::expand_as", {"self", self}, {"other", other});
  if (has_symbolic_sizes(other)) return call_expand(self, sym_sizes_of(other));
  return ops::expand(self, other.sizes());
}
Tensor view_as(const Tensor& self, const Tensor& other) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan)> view("aten::view");
  require_defined("aten::view_as", "other", other);
  if (has_symbolic_sizes(other)) return call_view(self, sym_sizes_of(other));
  return named("aten::view_as", "aten::view", [&] { return view.call(self, other.sizes()); });
}
Tensor reshape_as(const Tensor& self, const Tensor& other) {
  require_defined("aten::reshape_as", "other", other);
  if (has_symbolic_sizes(other)) return call_view(self, sym_sizes_of(other));
  return named("aten::reshape_as", "aten::reshape",
               [&] { return ops::reshape(self, other.sizes()); });
}
Tensor unflatten(const Tensor& self, std::int64_t dim, IntSpan sizes) {
  constexpr const char* kOp = "aten::unflatten.int";
  const auto at = std::size_t(require_part_dim(kOp, self, dim));
  DimVector whole(self.sizes().first(at));
  for (const std::int64_t size : infer_sizes(kOp, sizes, self.sizes()[at])) whole.push_back(size);
  for (const std::int64_t size : self.sizes().subspan(at + 1)) whole.push_back(size);
  return ops::reshape(self, whole);
}
Tensor matrix_transposed(const Tensor& self) {
  constexpr const char* kOp = "aten::mT";
  require_defined(kOp, "self", self);
  if (self.dim() < 2) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, "; at least two dimensions are needed"});
  }
  return ops::transpose(self, -2, -1);
}
Tensor all_transposed(const Tensor& self) {
  require_defined("aten::numpy_T", "self", self);
  DimVector dims;
  for (std::int64_t i = self.dim(); i > 0; --i) dims.push_back(i - 1);
  return ops::permute(self, dims);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         {"split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
          "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
          "split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
          "chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
          "unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
          "tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]",
          "tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
          "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
          "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
          "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
          "movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
          "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
          "expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
          "view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
          "reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
          "unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",
          "mT(Tensor(a) self) -> Tensor(a)", "numpy_T(Tensor(a) self) -> Tensor(a)"});
  m.impl("split_with_sizes", Kernel::with_symbolic<&split_with_sizes, &symbolic_split_sizes>());
  m.impl("split.Tensor", Kernel::with_symbolic<&split, &symbolic_split>());
  m.impl("split.sizes", Kernel::with_symbolic<&split_sizes, &symbolic_split_sizes>());
  m.impl("chunk", &chunk);
  m.impl("unbind.int", &unbind);
  m.impl("tensor_split.sections", Kernel::with_symbolic<&tensor_split, &decide_symbolic>());
  m.impl("tensor_split.indices", Kernel::with_symbolic<&tensor_split_at, &symbolic_tensor_split>());
  m.impl("movedim.intlist", &movedim);
  m.impl("movedim.int", &movedim_int);
  m.impl("expand_as", &expand_as);
  m.impl("view_as", &view_as);
  m.impl("reshape_as", &reshape_as);
  m.impl("unflatten.int", Kernel::with_symbolic<&unflatten, &symbolic_unflatten>());
  m.impl("mT", &matrix_transposed);
  m.impl("numpy_T", &all_transposed);
  m.derivative("squeeze.dims", {{"self", "reshape(grad, sizes(self))"}});
  m.derivative("diagonal", {{"self", "diagonal_backward(grad, sizes(self), offset, dim1, dim2)"}});
  m.derivative("unfold", {{"self", "unfold_backward(grad, sizes(self), dimension, size, step)"}});
}

OPYARD_LIBRARY_IMPL(aten, CompositeExplicitAutograd, m) {
  m.impl("squeeze.dims", &squeeze_dims);
  m.impl("diagonal", &diagonal);
  m.impl("unfold", &unfold);
}

}  // namespace opyard::kernels
