// kernels/take.cpp: turning positions into byte offsets, and copying what lies there.
//
//   self     [before …, indexed …, after …]      the indexed dimensions may also come first
//   result   [before …, B …,       after …]
//
// Each place in B is one offset from where a `before` begins. Behind it lies a block of the
// `after` dimensions: one element, a run of memory, or a strided block.
#include "take.h"

#include <cstring>

#include "copy.h"
#include "walk.h"

namespace opyard::kernels {
namespace {

struct Dim {
  std::int64_t size;
  std::int64_t step;  // in bytes
};

// How self and result are taken apart.
struct Plan {
  DimVector result_sizes;
  std::vector<Dim> before;
  std::vector<Dim> after;
  std::int64_t before_count = 1;
  std::int64_t after_count = 1;
  bool after_is_run = true;  // its elements follow each other in memory
};

DimVector common_sizes(const char* op, const std::vector<Positions>& positions) {
  DimVector sizes;
  for (const Positions& p : positions) {
    const std::optional<DimVector> joined = find_broadcast(sizes, p.index.sizes());
    if (!joined) {
      refuse(ErrorKind::BadShape,
             {op, ": ", p.name, " is ", p.index, ", whose sizes do not broadcast with ", sizes,
              ", those of the indices before it; counted from the last, sizes must be equal or 1"});
    }
    sizes = *joined;
  }
  return sizes;
}

Plan lay_out(const Tensor& self, const std::vector<Positions>& positions, const DimVector& common) {
  const auto item = std::int64_t(item_size(self.dtype()));
  SmallVector<bool, 8> indexed(self.sizes().size(), false);
  for (const Positions& p : positions) indexed[p.dim] = true;
  bool neighbours = true;
  for (std::size_t i = 1; i < positions.size(); ++i) {
    neighbours = neighbours && positions[i].dim == positions[i - 1].dim + 1;
  }
  Plan plan;
  const std::size_t first = positions.front().dim;
  for (std::size_t i = 0; i < self.sizes().size(); ++i) {
    if (indexed[i]) continue;
    const Dim dim{self.sizes()[i], self.strides()[i] * item};
    (neighbours && i < first ? plan.before : plan.after).push_back(dim);
  }
  for (const Dim& dim : plan.before) {
    plan.result_sizes.push_back(dim.size);
    plan.before_count *= dim.size;
  }
  for (const std::int64_t size : common) plan.result_sizes.push_back(size);
  for (const Dim& dim : plan.after) plan.result_sizes.push_back(dim.size);
  for (std::size_t i = plan.after.size(); i-- > 0;) {
    const Dim& dim = plan.after[i];
    if (dim.size != 1 && dim.step != plan.after_count * item) plan.after_is_run = false;
    plan.after_count *= dim.size;
  }
  return plan;
}

// Adds the positions' offsets to `offsets`, one for each place in the common sizes.
void add_offsets(const char* op, const Tensor& self, const Positions& p, const DimVector& common,
                 bool negative, std::vector<std::int64_t>& offsets) {
  const std::int64_t size = self.sizes()[p.dim];
  const std::int64_t step = self.strides()[p.dim] * std::int64_t(item_size(self.dtype()));
  const Tensor flat = row_major(op, p.index);
  const auto* const index = static_cast<const std::int64_t*>(flat.impl()->data());
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    if (index[i] < (negative ? -size : 0) || index[i] >= size) {
      refuse(ErrorKind::BadIndex,
             {op, ": ", p.name, " contains ", index[i], " at ", place_of(i, p.index.sizes()),
              ", out of range for dimension ", p.dim, " of self, which is ", self,
              size == 0 ? "; it has no elements"
                        : text_of({"; accepted are ", negative ? -size : 0, " to ", size - 1})});
    }
  }
  Tensor spread = Tensor::empty(common, DType::Int64);
  copy_elements(op, spread, flat);
  const auto* const all = static_cast<const std::int64_t*>(spread.impl()->data());
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] += (all[i] < 0 ? all[i] + size : all[i]) * step;
  }
}

template <std::size_t bytes>
std::byte* copy_items(std::byte* to, const std::byte* from,
                      const std::vector<std::int64_t>& offsets) {
  for (const std::int64_t offset : offsets) {
    std::memcpy(to, from + offset, bytes);
    to += bytes;
  }
  return to;
}

std::byte* copy_single(std::byte* to, const std::byte* from,
                       const std::vector<std::int64_t>& offsets, std::size_t item) {
  switch (item) {
    case 1:
      return copy_items<1>(to, from, offsets);
    case 2:
      return copy_items<2>(to, from, offsets);
    case 4:
      return copy_items<4>(to, from, offsets);
    case 8:
      return copy_items<8>(to, from, offsets);
    default:
      return copy_items<16>(to, from, offsets);
  }
}

// Blocks whose elements do not follow each other: innermost dimension in a loop, the others by
// recursion.
std::byte* copy_strided(std::byte* to, const std::byte* from, std::span<const Dim> dims,
                        std::size_t item) {
  if (dims.empty()) {
    std::memcpy(to, from, item);
    return to + item;
  }
  for (std::int64_t i = 0; i < dims[0].size; ++i) {
    to = copy_strided(to, from + i * dims[0].step, dims.subspan(1), item);
  }
  return to;
}

}  // namespace

DimVector place_of(std::int64_t position, IntSpan sizes) {
  DimVector place(sizes.size(), 0);
  for (std::size_t i = sizes.size(); i-- > 0;) {
    place[i] = position % sizes[i];
    position /= sizes[i];
  }
  return place;
}

Tensor take(const char* op, const Tensor& self, const std::vector<Positions>& positions,
            bool negative) {
  const DimVector common = common_sizes(op, positions);
  const Plan plan = lay_out(self, positions, common);
  std::vector<std::int64_t> offsets(std::size_t(count_elements(common)), 0);
  for (const Positions& p : positions) add_offsets(op, self, p, common, negative, offsets);

  Tensor result = Tensor::empty(plan.result_sizes, self.dtype());
  if (result.numel() == 0) return result;
  const std::size_t item = item_size(self.dtype());
  std::byte* to = bytes_of(result);
  DimVector at(plan.before.size(), 0);
  for (std::int64_t n = 0; n < plan.before_count; ++n) {
    const std::byte* from = bytes_of(self);
    for (std::size_t i = 0; i < at.size(); ++i) from += at[i] * plan.before[i].step;
    if (plan.after_count == 1) {
      to = copy_single(to, from, offsets, item);
    } else if (plan.after_is_run) {
      const std::size_t bytes = std::size_t(plan.after_count) * item;
      for (const std::int64_t offset : offsets) {
        std::memcpy(to, from + offset, bytes);
        to += bytes;
      }
    } else {
      for (const std::int64_t offset : offsets) {
        to = copy_strided(to, from + offset, plan.after, item);
      }
    }
    for (std::size_t i = at.size(); i-- > 0;) {
      if (++at[i] < plan.before[i].size) break;
      at[i] = 0;
    }
  }
  return result;
}

}  // namespace opyard::kernels
