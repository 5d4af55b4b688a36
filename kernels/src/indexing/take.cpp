// kernels/indexing/take.cpp: byte offsets of positions, and gathering.
//
// Each place in B is one offset from where a `before` begins. Behind it is a block of the
// `after` dimensions: one element, a run of memory, or a strided block. The other side of a
// transfer is packed: block after block, without gaps.
#include "indexing/take.h"

#include <algorithm>
#include <cstring>

#include "common/broadcast.h"
#include "common/copy.h"
#include "common/dtypes.h"
#include "common/releasing.h"
#include "common/walk.h"
#include "opyard/tensor/wrapped_stride.h"
#include "pointwise/loops.h"

namespace opyard::kernels {
namespace {

// Of positions that do not broadcast with each other.
[[noreturn]] OPYARD_COLD void refuse_positions(const char* op,
                                               const std::vector<Positions>& positions) {
  std::vector<NamedTensor> named;
  for (const Positions& p : positions) named.push_back({p.name.c_str(), p.index});
  refuse_operands(op, named);
}

DimVector position_sizes(const char* op, const std::vector<Positions>& positions) {
  DimVector sizes;
  for (const Positions& p : positions) {
    const std::optional<DimVector> joined = find_broadcast(sizes, p.index.sizes());
    if (!joined) refuse_positions(op, positions);
    sizes = *joined;
  }
  return sizes;
}

}  // namespace

Selection::Selection(const char* op, const Tensor& self, const std::vector<Positions>& positions,
                     bool negative)
    : self_(self) {
  const DimVector common = position_sizes(op, positions);
  lay_out(positions, common);
  offsets_.resize(std::size_t(count_elements(common)), 0);
  if (is_meta(self)) return;  // sizes are all that is asked
  for (const Positions& p : positions) add_offsets(op, p, common, negative);
}

void Selection::lay_out(const std::vector<Positions>& positions, const DimVector& common) {
  const auto item = std::int64_t(item_size(self_.dtype()));
  SmallVector<bool, 8> indexed(self_.sizes().size(), false);
  bool neighbours = true;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    indexed[positions[i].dim] = true;
    neighbours = neighbours && (i == 0 || positions[i].dim == positions[i - 1].dim + 1);
  }
  const std::size_t first = positions.front().dim;
  for (std::size_t i = 0; i < self_.sizes().size(); ++i) {
    if (indexed[i]) continue;
    const Dim dim{self_.sizes()[i], wrapped_product(self_.strides()[i], item)};
    (neighbours && i < first ? before_ : after_).push_back(dim);
  }
  for (const Dim& dim : before_) {
    sizes_.push_back(dim.size);
    before_count_ *= dim.size;
  }
  for (const std::int64_t size : common) sizes_.push_back(size);
  for (const Dim& dim : after_) sizes_.push_back(dim.size);
  for (std::size_t i = after_.size(); i-- > 0;) {
    const Dim& dim = after_[i];
    if (dim.size != 1 && dim.step != after_count_ * item) after_is_run_ = false;
    after_count_ *= dim.size;
  }
}

void Selection::add_offsets(const char* op, const Positions& p, const DimVector& common,
                            bool negative) {
  const std::int64_t size = self_.sizes()[p.dim];
  const auto item = std::int64_t(item_size(self_.dtype()));
  const std::int64_t step = wrapped_product(self_.strides()[p.dim], item);
  const Tensor flat = row_major(op, p.index);
  const auto* const index = static_cast<const std::int64_t*>(flat.impl()->data());
  const std::int64_t count = flat.numel();
  std::int64_t bad = count;  // the first that is out of range
  const auto is_good = [size, least = negative ? -size : 0](std::int64_t at) {
    return at >= least && at < size;
  };
  without_gil_for(count, [&] { bad = std::find_if_not(index, index + count, is_good) - index; });
  if (bad < count) {
    refuse(ErrorKind::BadIndex,
           {op, ": ", p.name, " contains ", index[bad], " at ", place_of(bad, p.index.sizes()),
            ", out of range for dimension ", p.dim, " of self, which is ", self_,
            size == 0 ? "; it has no elements"
                      : text_of({"; accepted are ", negative ? -size : 0, " to ", size - 1})});
  }
  Tensor spread = Tensor::empty(common, DType::Int64);
  copy_elements(op, spread, flat);
  const auto* const all = static_cast<const std::int64_t*>(spread.impl()->data());
  // Looked at again: another thread may write to the index while the GIL is released.
  bool all_good = true;
  without_gil_for(std::int64_t(offsets_.size()), [&] {
    for (std::size_t i = 0; i < offsets_.size() && (all_good = is_good(all[i])); ++i) {
      offsets_[i] += (all[i] < 0 ? all[i] + size : all[i]) * step;
    }
  });
  if (!all_good) {
    refuse(ErrorKind::BadIndex,
           {op, ": ", p.name, " was changed by another thread while it was read"});
  }
}

// Calls visit(block in self, block in the packed memory) for each block.
template <typename Visit>
void Selection::each_block(std::byte* packed, Visit&& visit) const {
  without_gil_for(count_elements(sizes_), [&] { step_through(packed, visit); });
}
template <typename Visit>
void Selection::step_through(std::byte* packed, const Visit& visit) const {
  const std::int64_t block = after_count_ * std::int64_t(item_size(self_.dtype()));
  if (before_count_ == 0 || block == 0) return;
  std::byte* const begin = bytes_of(self_);
  DimVector at(before_.size(), 0);
  for (std::int64_t n = 0; n < before_count_; ++n) {
    std::byte* from = begin;
    for (std::size_t i = 0; i < at.size(); ++i) from += at[i] * before_[i].step;
    for (const std::int64_t offset : offsets_) {
      visit(from + offset, packed);
      packed += block;
    }
    for (std::size_t i = at.size(); i-- > 0;) {
      if (++at[i] < before_[i].size) break;
      at[i] = 0;
    }
  }
}

// Calls visit(element in self, element in the packed memory) for each element of a block.
template <typename Visit>
void Selection::each_element(std::byte* from, std::byte*& packed, std::span<const Dim> dims,
                             std::size_t item, const Visit& visit) {
  if (dims.empty()) {
    visit(from, packed);
    packed += item;
    return;
  }
  for (std::int64_t i = 0; i < dims[0].size; ++i) {
    each_element(from + i * dims[0].step, packed, dims.subspan(1), item, visit);
  }
}

// Calls move(in self, packed, bytes) for runs as long as there are.
template <typename Move>
void Selection::transfer(std::byte* packed, const Move& move) const {
  const std::size_t item = item_size(self_.dtype());
  if (after_count_ == 1 && item == 4) {
    each_block(packed, [&](std::byte* own, std::byte* other) { move(own, other, 4); });
  } else if (after_count_ == 1 && item == 8) {
    each_block(packed, [&](std::byte* own, std::byte* other) { move(own, other, 8); });
  } else if (after_is_run_) {
    const std::size_t bytes = std::size_t(after_count_) * item;
    each_block(packed, [&](std::byte* own, std::byte* other) { move(own, other, bytes); });
  } else {
    each_block(packed, [&](std::byte* own, std::byte* other) {
      each_element(own, other, after_, item,
                   [&](std::byte* from, std::byte* to) { move(from, to, item); });
    });
  }
}

Tensor Selection::read() const {
  Tensor result = empty_beside(self_, sizes_, self_.dtype());
  if (is_meta(result)) return result;
  transfer(bytes_of(result), [](std::byte* own, std::byte* packed, std::size_t bytes) {
    std::memcpy(packed, own, bytes);
  });
  return result;
}

void Selection::write(const Tensor& values) const {
  transfer(bytes_of(values), [](std::byte* own, std::byte* packed, std::size_t bytes) {
    std::memcpy(own, packed, bytes);
  });
}

template <typename T>
void Selection::add_elements(const Tensor& values) const {
  each_block(bytes_of(values), [&](std::byte* own, std::byte* packed) {
    each_element(own, packed, after_, sizeof(T), [](std::byte* to, std::byte* from) {
      T& sum = *reinterpret_cast<T*>(to);
      const T& term = *reinterpret_cast<const T*>(from);
      sum = T(kernels::add(accumulate_t<T>(sum), accumulate_t<T>(term)));
    });
  });
}

void Selection::add(const Tensor& values) const {
  switch (signed_like(self_.dtype())) {  // sums have the same bytes
#define OPYARD_DTYPE(code, name, python, type, ...) \
  case DType::name:                                 \
    if constexpr (is_wide_unsigned(DType::name))    \
      break;                                        \
    else                                            \
      return add_elements<type>(values);
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
}

DimVector place_of(std::int64_t position, IntSpan sizes) {
  DimVector place(sizes.size(), 0);
  for (std::size_t i = sizes.size(); i-- > 0;) {
    place[i] = position % sizes[i];
    position /= sizes[i];
  }
  return place;
}

}  // namespace opyard::kernels
