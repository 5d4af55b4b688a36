// kernels/indexing/gather.cpp: gather: one element along a dimension for each element of an index.
#include <opyard/library.h>

#include <algorithm>
#include <cstring>

#include "common/copy.h"
#include "common/kernels_block.h"
#include "common/walk.h"
#include "indexing/take.h"

namespace opyard::kernels {
namespace {

// One element of the source for each of the index: data is result, index, source; the source
// does not move along the gathered dimension.
struct Gathering {
  std::int64_t size;
  std::int64_t step;
  std::size_t item;
  // The first index that is out of range.
  const std::byte** bad;
};

void gather_loop(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                 const void* context) {
  const auto& gathering = *static_cast<const Gathering*>(context);
  std::byte* to = data[0];
  const std::byte *index = data[1], *from = data[2];
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = *reinterpret_cast<const std::int64_t*>(index);
    if (at >= 0 && at < gathering.size) {
      std::memcpy(to, from + at * gathering.step, gathering.item);
    } else if (*gathering.bad == nullptr) {
      *gathering.bad = to;
    }
    to += steps[0];
    index += steps[1];
    from += steps[2];
  }
}

Tensor gather_kernel(const Tensor& self, std::int64_t dim, const Tensor& given,
                     bool /*sparse_grad*/) {
  constexpr const char* kOp = "aten::gather";
  require_cpu(kOp, "self", self);
  require_index_dtype(kOp, "index", given);
  const auto at = std::size_t(wrap_dim(kOp, dim, self.dim()));
  const Tensor index = converted(kOp, given, DType::Int64);
  // A tensor without dimensions is taken as if it had one.
  const auto dims = [](const Tensor& x) { return std::max<std::int64_t>(x.dim(), 1); };
  bool fits = dims(self) == dims(index);
  for (std::size_t i = 0; fits && self.dim() > 0 && i < index.sizes().size(); ++i) {
    fits = i == at || index.sizes()[i] <= self.sizes()[i];
  }
  if (!fits) {
    refuse(ErrorKind::BadShape,
           {kOp, ": self is ", self, " and index is ", given,
            "; index must have as many dimensions, none of them larger than self's but dimension ",
            at});
  }
  Tensor result = empty_beside(is_meta(self) ? self : index, index.sizes(), self.dtype());
  if (is_meta(result)) return result;
  const std::size_t item = item_size(self.dtype());
  const bool single = self.dim() == 0;
  const std::byte* bad = nullptr;
  const Gathering gathering{single ? 1 : self.sizes()[at],
                            single ? 0 : self.strides()[at] * std::int64_t(item), item, &bad};
  DimVector strides(self.strides());
  if (!single) strides[at] = 0;
  strides.resize(index.sizes().size(), 0);
  Walk walk(index.sizes());
  walk.add(result);
  walk.add(index);
  walk.add(bytes_of(self), index.sizes(), strides, std::int64_t(item));
  walk.run(&gather_loop, &gathering);
  if (bad != nullptr) {
    const std::int64_t position = (bad - bytes_of(result)) / std::int64_t(item);
    const Tensor flat = row_major(kOp, index);
    refuse(ErrorKind::BadIndex,
           {kOp, ": index contains ", flat.data<std::int64_t>()[position], " at ",
            place_of(position, index.sizes()), ", out of range for dimension ", at,
            " of self, which is ", self, "; accepted are 0 to ", gathering.size - 1});
  }
  return result;
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor");
}

OPYARD_KERNELS(m) { m.impl("gather", &gather_kernel); }

}  // namespace opyard::kernels
