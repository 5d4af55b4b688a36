// kernels/indexing/masks.cpp: elements by truth: nonzero, masked_select and masked_scatter; and
// index_add.
#include <algorithm>

#include "common/broadcast.h"
#include "common/copy.h"
#include "common/define.h"
#include "common/dtypes.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/releasing.h"
#include "common/walk.h"

namespace opyard::kernels {
namespace {

using namespace ops;

Tensor nonzero(const Tensor& self) {
  constexpr const char* kOp = "aten::nonzero";
  require_cpu(kOp, "self", self);
  const Tensor from = row_major(kOp, converted(kOp, self, DType::Bool));
  const bool* const in = elements_of<const bool>(from);
  const std::int64_t all = self.numel();
  std::int64_t count = 0;
  without_gil_for(all, [&] { count = std::count(in, in + all, true); });
  // Dimension after dimension in memory, as PyTorch's.
  const std::array sizes = {self.dim(), count};
  const Tensor found = Tensor::empty(sizes, DType::Int64);
  const DimVector of_self(self.sizes());
  std::int64_t at = 0;
  auto* const out = elements_of<std::int64_t>(found);
  without_gil_for(all, [&] {
    for (std::int64_t i = 0; i < all && at < count; ++i) {
      if (!in[i]) continue;
      std::int64_t rest = i;
      for (std::size_t d = of_self.size(); d-- > 0;) {
        out[std::int64_t(d) * count + at] = rest % of_self[d];
        rest /= of_self[d];
      }
      ++at;
    }
  });
  if (at < count) {  // while the GIL was released
    refuse(ErrorKind::BadIndex, {kOp, ": self was changed by another thread while it was read"});
  }
  const std::array turned = {count, self.dim()}, strides = {std::int64_t{1}, count};
  return found.as_strided(turned, strides, 0);
}

void require_mask(const char* op, const Tensor& self, const Tensor& mask) {
  require_defined(op, "self", self);
  require_defined(op, "mask", mask);
  if (mask.dtype() != DType::Bool) {
    refuse(ErrorKind::BadArgument, {op, ": mask is ", mask, "; accepted is bool"});
  }
}
DimVector mask_sizes(const char* op, const Tensor& self, const Tensor& mask) {
  require_mask(op, self, mask);
  require_broadcast(op, {{"self", self}, {"mask", mask}});
  return *find_broadcast(self.sizes(), mask.sizes());
}
Tensor masked_select(const Tensor& self, const Tensor& mask) {
  const DimVector sizes = mask_sizes("aten::masked_select", self, mask);
  const std::array<std::int64_t, 1> row = {count_elements(sizes)};
  return index(reshape(ops::expand(self, sizes), row), {reshape(ops::expand(mask, sizes), row)});
}

// The n-th place that is true takes the n-th element of source.
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  constexpr const char* kOp = "aten::masked_scatter";
  using Scan = Tensor(const Tensor&, std::int64_t, std::optional<DType>);
  static constinit FoundOperator<Scan> cumsum("aten::cumsum");
  const DimVector sizes = mask_sizes(kOp, self, mask);
  require_defined(kOp, "source", source);
  if (source.dtype() != self.dtype()) {
    refuse(ErrorKind::BadArgument,
           {kOp, ": self is ", self, " and source is ", source, "; one dtype is needed"});
  }
  const std::array<std::int64_t, 1> row = {count_elements(sizes)}, all = {source.numel()};
  if (row[0] == 0) return clone(ops::expand(self, sizes));
  if (all[0] == 0) {
    static constinit FoundOperator<Tensor(const Tensor&)> any("aten::any");
    static constinit FoundOperator<bool(const Tensor&)> is_true("aten::is_nonzero");
    if (!is_meta(mask) && is_true.call(any.call(mask))) {
      refuse(ErrorKind::BadShape, {kOp, ": source is ", source,
                                   ", and mask takes elements of it; as "
                                   "many as mask has places that are True are needed"});
    }
    return clone(ops::expand(self, sizes));
  }
  const Tensor flat = reshape(ops::expand(mask, sizes), row);
  const Tensor places = clamp(cumsum.call(flat, 0, std::nullopt) - Scalar(1), 0, std::nullopt);
  const Tensor taken = index_select(reshape(source, all), 0, places);
  return where(ops::expand(mask, sizes), reshape(taken, sizes), ops::expand(self, sizes));
}

// An index of at most one dimension, of int64 or int32. Raises BadArgument, BadShape.
void require_index_row(const char* op, const Tensor& index) {
  require_int_dtype(op, "index", index);
  if (index.dim() > 1) {
    refuse(ErrorKind::BadShape, {op, ": index is ", index, "; at most one dimension is accepted"});
  }
}
Tensor index_add(const Tensor& self, std::int64_t dim, const Tensor& index_of, const Tensor& source,
                 const Scalar& alpha) {
  constexpr const char* kOp = "aten::index_add";
  require_defined(kOp, "self", self);
  require_defined(kOp, "index", index_of);
  require_index_row(kOp, index_of);
  require_defined(kOp, "source", source);
  const std::int64_t at = wrap_dim(kOp, dim, self.dim());
  DimVector sizes(std::size_t(std::max<std::int64_t>(source.dim(), 1)), 1);
  const std::array<std::int64_t, 1> row = {index_of.numel()};
  if (source.dim() != self.dim() || (source.dim() > 0 && source.size(at) != row[0])) {
    refuse(ErrorKind::BadShape,
           {kOp, ": self is ", self, ", index is ", index_of, " and source is ", source,
            "; source needs as many dimensions as self and the size of index along dim"});
  }
  if (self.dim() == 0) return self + source * alpha;
  sizes[std::size_t(at)] = row[0];
  const Tensor places = ops::expand(reshape(to(index_of, DType::Int64), sizes), source.sizes());
  const bool once = !alpha.is_complex() && alpha.to_double() == 1;
  return scatter_add(self, at, places, once ? source : source * alpha);
}
Tensor index_fill(const Tensor& self, std::int64_t dim, const Tensor& index_of,
                  const Scalar& value) {
  constexpr const char* kOp = "aten::index_fill.int_Scalar";
  using Scatter = Tensor(const Tensor&, std::int64_t, const Tensor&, const Scalar&);
  static constinit FoundOperator<Scatter> scatter("aten::scatter.value");
  require_defined(kOp, "self", self);
  require_defined(kOp, "index", index_of);
  require_index_row(kOp, index_of);
  const std::int64_t at = wrap_dim(kOp, dim, self.dim());
  if (self.dim() == 0) return scatter.call(self, 0, reshape(index_of, {}), value);
  DimVector one(self.sizes().size(), 1), sizes(self.sizes());
  one[std::size_t(at)] = sizes[std::size_t(at)] = index_of.numel();
  return scatter.call(self, at, ops::expand(reshape(to(index_of, DType::Int64), one), sizes),
                      value);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m, {"nonzero(Tensor self) -> Tensor", "masked_select(Tensor self, Tensor mask) -> Tensor"},
         Tagged::DynamicShape);
  define(m, {"masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
             "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> "
             "Tensor",
             "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor"});
  m.impl("masked_select", &masked_select);
  m.impl("masked_scatter", &masked_scatter);
  m.impl("index_add", &index_add);
  m.impl("index_fill.int_Scalar", &index_fill);
  define_in_place(m, "masked_scatter");
  define_in_place(m, "index_add");
  define_in_place(m, "index_fill.int_Scalar");
}

OPYARD_LIBRARY_IMPL(aten, CPU, m) { m.impl("nonzero", cpu_only(&nonzero)); }

}  // namespace opyard::kernels
