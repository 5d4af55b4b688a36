// kernels/index.cpp: index.Tensor, index_select and gather: elements by position or mask.
//
// An index is int64 (int32 is converted) or bool. A mask of k dimensions stands for k indices:
// the places where it is True. See take.h for where the new dimensions go.
#include <opyard/library.h>

#include <cstring>

#include "copy.h"
#include "take.h"
#include "walk.h"

namespace opyard::kernels {
namespace {

// The places of True as one int64 tensor for each dimension of the mask.
std::vector<Tensor> places_of_true(const char* op, const Tensor& mask) {
  const Tensor flat = row_major(op, mask);
  const auto* const data = static_cast<const bool*>(flat.impl()->data());
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < mask.numel(); ++i) count += data[i] ? 1 : 0;
  std::vector<Tensor> places;
  std::vector<std::int64_t*> columns;
  for (std::int64_t i = 0; i < mask.dim(); ++i) {
    places.push_back(Tensor::empty(std::array{count}, DType::Int64));
    columns.push_back(static_cast<std::int64_t*>(places.back().impl()->data()));
  }
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < mask.numel(); ++i) {
    if (!data[i]) continue;
    const DimVector place = place_of(i, mask.sizes());
    for (std::size_t dim = 0; dim < columns.size(); ++dim) columns[dim][found] = place[dim];
    ++found;
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
    refuse(ErrorKind::BadShape,
           {op, ": ", name, " is ", mask, ", a mask from dimension ", dim, " on of self, which is ",
            self, "; a mask must have the sizes of the dimensions that it covers"});
  }
}

Tensor index_tensor(const Tensor& self, const std::vector<std::optional<Tensor>>& indices) {
  constexpr const char* kOp = "aten::index.Tensor";
  require_cpu(kOp, "self", self);
  std::vector<Positions> positions;
  std::size_t dim = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i] || !indices[i]->defined()) {
      ++dim;
      continue;
    }
    const Tensor& index = *indices[i];
    const std::string name = text_of({"indices[", i, "]"});
    require_cpu(kOp, name.c_str(), index);
    if (index.dtype() == DType::Bool) {
      require_mask_fits(kOp, name, index, self, dim);
      for (Tensor& places : places_of_true(kOp, index)) {
        positions.push_back({dim++, std::move(places), name});
      }
    } else if (index.dtype() == DType::Int64 || index.dtype() == DType::Int32) {
      positions.push_back({dim++, converted(kOp, index, DType::Int64), name});
    } else {
      refuse(ErrorKind::BadArgument,
             {kOp, ": ", name, " is ", index, "; accepted are bool, int64 and int32"});
    }
  }
  if (dim > self.sizes().size()) {
    refuse(ErrorKind::BadIndex, {kOp, ": indices are given for ", dim,
                                 " dimensions of self, which is ", self, " and has ", self.dim()});
  }
  if (positions.empty()) {
    refuse(ErrorKind::BadValue, {kOp,
                                 ": every index is None; give a tensor for at least one "
                                 "dimension"});
  }
  return take(kOp, self, positions, true);
}

Tensor index_select(const Tensor& self, std::int64_t dim, const Tensor& index) {
  constexpr const char* kOp = "aten::index_select";
  require_cpu(kOp, "self", self);
  require_cpu(kOp, "index", index);
  const auto at = std::size_t(wrap_dim(kOp, dim, self.dim()));
  if (index.dim() > 1) {
    refuse(ErrorKind::BadShape, {kOp, ": index is ", index, "; accepted is one dimension"});
  }
  if (index.dtype() != DType::Int64 && index.dtype() != DType::Int32) {
    refuse(ErrorKind::BadArgument, {kOp, ": index is ", index, "; accepted are int64 and int32"});
  }
  const std::array count = {index.numel()}, step = {index.dim() == 0 ? 1 : index.strides()[0]};
  const Tensor list =
      converted(kOp, index.as_strided(count, step, index.storage_offset()), DType::Int64);
  const bool single = self.dim() == 0;
  const std::array one = {std::int64_t{1}};
  const Tensor source = single ? self.as_strided(one, one, self.storage_offset()) : self;
  Tensor result = take(kOp, source, {{at, list, "index"}}, false);
  return single ? result.as_strided({}, {}, 0) : result;
}

// One element of the source for each of the index: data is result, index, source; the source
// stands still along the gathered dimension.
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

Tensor gather(const Tensor& self, std::int64_t dim, const Tensor& index, bool /*sparse_grad*/) {
  constexpr const char* kOp = "aten::gather";
  require_cpu(kOp, "self", self);
  require_dtype(kOp, "index", index, DType::Int64);
  const auto at = std::size_t(wrap_dim(kOp, dim, self.dim()));
  bool fits = self.dim() == index.dim();
  for (std::size_t i = 0; fits && i < index.sizes().size(); ++i) {
    fits = i == at || index.sizes()[i] <= self.sizes()[i];
  }
  if (!fits) {
    refuse(ErrorKind::BadShape,
           {kOp, ": self is ", self, " and index is ", index,
            "; index must have as many dimensions, none of them larger than self's but dimension ",
            at});
  }
  Tensor result = Tensor::empty(index.sizes(), self.dtype());
  const std::size_t item = item_size(self.dtype());
  const bool single = self.dim() == 0;
  const std::byte* bad = nullptr;
  const Gathering gathering{single ? 1 : self.sizes()[at],
                            single ? 0 : self.strides()[at] * std::int64_t(item), item, &bad};
  DimVector strides(self.strides());
  if (!single) strides[at] = 0;
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
  m.def("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor");
  m.def("index_select(Tensor self, int dim, Tensor index) -> Tensor");
  m.def("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor");
}

OPYARD_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("index.Tensor", &index_tensor);
  m.impl("index_select", &index_select);
  m.impl("gather", &gather);
}

}  // namespace opyard::kernels
