// kernels/indexing/index.cpp: index.Tensor, index_put_ and index_select: elements by position or
// mask.
//
// An index is int64 (int32 is converted) or bool. A mask of k dimensions stands for k indices:
// the places if it is True. See take.h for where the new dimensions go.
#include <opyard/library.h>

#include <algorithm>

#include "common/broadcast.h"
#include "common/copy.h"
#include "common/kernels_block.h"
#include "common/releasing.h"
#include "common/walk.h"
#include "common/write.h"
#include "indexing/take.h"

namespace opyard::kernels {
namespace {

// The places of True as one int64 tensor for each dimension of the mask.
std::vector<Tensor> places_of_true(const char* op, const Tensor& mask) {
  const Tensor flat = row_major(op, mask);
  const auto* const data = static_cast<const bool*>(flat.impl()->data());
  const std::int64_t all = mask.numel();
  std::int64_t count = 0;
  without_gil_for(all, [&] { count = std::count(data, data + all, true); });
  std::vector<Tensor> places;
  std::vector<std::int64_t*> columns;
  for (std::int64_t i = 0; i < mask.dim(); ++i) {
    places.push_back(Tensor::empty(std::array{count}, DType::Int64));
    columns.push_back(static_cast<std::int64_t*>(places.back().impl()->data()));
  }
  const DimVector sizes(mask.sizes());
  std::int64_t found = 0;
  without_gil_for(all, [&] {
    for (std::int64_t i = 0; i < all && found < count; ++i) {
      if (!data[i]) continue;
      const DimVector place = place_of(i, sizes);
      for (std::size_t dim = 0; dim < columns.size(); ++dim) columns[dim][found] = place[dim];
      ++found;
    }
  });
  if (found < count) {  // while the GIL was released
    refuse(ErrorKind::BadIndex, {op, ": a mask was changed by another thread while it was read"});
  }
  return places;
}

void require_mask_fits(const char* op, const std::string& name, const Tensor& mask,
                       const Tensor& self, std::size_t dim) {
  bool fits = mask.dim() > 0;
  for (std::size_t i = 0; i < mask.sizes().size() && fits; ++i) {
    fits = dim + i < self.sizes().size() && mask.sizes()[i] == self.sizes()[dim + i];
  }
  if (!fits) {
    refuse(ErrorKind::BadIndex,
           {op, ": ", name, " is ", mask, ", a mask from dimension ", dim, " on of self, which is ",
            self, "; a mask must have the sizes of the dimensions that it covers"});
  }
}

// An index on meta has no elements, and a tensor with elements is to be read or written at some.
void require_says_places(const char* op, const std::string& name, const Tensor& index,
                         const Tensor& self) {
  if (!is_meta(index) || is_meta(self)) return;
  refuse(ErrorKind::BadArgument,
         {op, ": ", name, " is ", index, " on meta, where it says no place, and self is ", self,
          "; pass indices on the cpu"});
}

// The indices as positions, masks taken apart.
std::vector<Positions> positions_of(const char* op, const Tensor& self,
                                    const std::vector<std::optional<Tensor>>& indices) {
  std::vector<Positions> positions;
  std::size_t dim = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i] || !indices[i]->defined()) {
      ++dim;
      continue;
    }
    const Tensor& index = *indices[i];
    const std::string name = text_of({"indices[", i, "]"});
    require_cpu(op, name.c_str(), index);
    require_says_places(op, name, index, self);
    if (index.dtype() == DType::Bool) {
      require_mask_fits(op, name, index, self, dim);
      if (is_meta(index)) {
        refuse(ErrorKind::Unsupported,
               {op, ": ", name, " is ", index,
                ", a mask on meta, and only its elements would say how many places it selects; "
                "use indices of integers"});
      }
      for (Tensor& places : places_of_true(op, index)) {
        positions.push_back({dim++, std::move(places), name});
      }
    } else if (index.dtype() == DType::Int64 || index.dtype() == DType::Int32) {
      positions.push_back({dim++, converted(op, index, DType::Int64), name});
    } else {
      refuse(ErrorKind::BadArgument,
             {op, ": ", name, " is ", index, "; accepted are bool, int64 and int32"});
    }
  }
  if (dim > self.sizes().size()) {
    refuse(ErrorKind::BadIndex, {op, ": indices are given for ", dim,
                                 " dimensions of self, which is ", self, " and has ", self.dim()});
  }
  if (positions.empty()) {
    refuse(ErrorKind::BadValue, {op,
                                 ": every index is None; give a tensor for at least one "
                                 "dimension"});
  }
  return positions;
}

Tensor index_tensor(const Tensor& self, const std::vector<std::optional<Tensor>>& indices) {
  constexpr const char* kOp = "aten::index.Tensor";
  require_cpu(kOp, "self", self);
  return Selection(kOp, self, positions_of(kOp, self, indices), true).read();
}

Tensor index_select_kernel(const Tensor& self, std::int64_t dim, const Tensor& index) {
  constexpr const char* kOp = "aten::index_select";
  require_cpu(kOp, "self", self);
  require_cpu(kOp, "index", index);
  const auto at = std::size_t(wrap_dim(kOp, dim, self.dim()));
  if (index.dim() > 1) {
    refuse(ErrorKind::BadShape, {kOp, ": index is ", index, "; accepted is one dimension"});
  }
  require_index_dtype(kOp, "index", index);
  require_says_places(kOp, "index", index, self);
  const std::array count = {index.numel()}, step = {index.dim() == 0 ? 1 : index.strides()[0]};
  const Tensor list =
      converted(kOp, index.as_strided(count, step, index.storage_offset()), DType::Int64);
  const bool single = self.dim() == 0;
  const std::array one = {std::int64_t{1}};
  const Tensor source = single ? self.as_strided(one, one, self.storage_offset()) : self;
  const Tensor result = Selection(kOp, source, {{at, list, "index"}}, false).read();
  return single ? result.as_strided({}, {}, 0) : result;
}

// Whether an index is a mask on meta, which says no more than that it fits. Raises what its sizes
// raise.
bool has_mask_on_meta(const char* op, const Tensor& self,
                      const std::vector<std::optional<Tensor>>& indices) {
  bool found = false;
  std::size_t dim = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const bool is_given = indices[i] && indices[i]->defined();
    const bool is_mask = is_given && indices[i]->dtype() == DType::Bool;
    if (is_mask) require_mask_fits(op, text_of({"indices[", i, "]"}), *indices[i], self, dim);
    found = found || (is_mask && is_meta(*indices[i]));
    dim += is_mask ? indices[i]->sizes().size() : 1;
  }
  return found;
}

Tensor& index_put(Tensor& self, const std::vector<std::optional<Tensor>>& indices,
                  const Tensor& values, bool accumulate) {
  constexpr const char* kOp = "aten::index_put_";
  require_writable(kOp, "self", self);
  require_dtype(kOp, "values", values, self.dtype());
  if (is_meta(self) && has_mask_on_meta(kOp, self, indices)) {
    self.count_write();
    return self;
  }
  const std::vector<Positions> positions = positions_of(kOp, self, indices);
  const Selection selection(kOp, self, positions, true);
  require_expandable(kOp, {"values", values}, "the indexed part of self", selection.sizes());
  if (is_meta(self)) {
    self.count_write();
    return self;
  }
  Tensor packed = Tensor::empty(selection.sizes(), self.dtype());
  copy_elements(kOp, packed, values);
  self.count_write();
  accumulate ? selection.add(packed) : selection.write(packed);
  return self;
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor");
  m.def("index_select(Tensor self, int dim, Tensor index) -> Tensor");
  m.def(
      "index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
      "Tensor(a!)");
}

OPYARD_KERNELS(m) {
  m.impl("index.Tensor", &index_tensor);
  m.impl("index_select", &index_select_kernel);
  m.impl("index_put_", &index_put);
}

}  // namespace opyard::kernels
