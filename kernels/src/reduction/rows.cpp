// kernels/reduction/rows.cpp: finding rows in memory, and gathering those that are not in one
// piece.
//
// Overview. The remaining dimensions are stepped through in order. The reduced ones are joined to
// a single step if that is possible; if not, the input is copied with the reduced dimensions
// innermost. Then there are two cases:
//
//   step is one element      the row is passed on in place
//   step is another          up to sixteen rows that are neighbours in memory are gathered
//                            into a buffer together, since a cache line that is fetched for
//                            one of them holds elements of the next; loops that can do so take
//                            them where they are
#include "reduction/rows.h"

#include <opyard/parallel.h>
#include <opyard/tensor/wrapped_stride.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "common/copy.h"
#include "common/releasing.h"

namespace opyard::kernels {
namespace {

constexpr std::int64_t kGathered = kMostColumns;

// Row i of the buffer gets the elements at data + i * row_step, a `step` apart.
template <typename Bytes>
void gather_rows(std::byte* buffer, const std::byte* data, std::int64_t rows, std::int64_t row_step,
                 std::int64_t length, std::int64_t step) {
  auto* const out = reinterpret_cast<Bytes*>(buffer);
  for (std::int64_t i = 0; i < length; ++i, data += step) {
    const std::byte* from = data;
    for (std::int64_t row = 0; row < rows; ++row, from += row_step) {
      std::memcpy(out + row * length + i, from, sizeof(Bytes));
    }
  }
}

void gather_bytes(std::int64_t item, std::byte* buffer, const std::byte* data, std::int64_t rows,
                  std::int64_t row_step, std::int64_t length, std::int64_t step) {
  if (item == 1) return gather_rows<std::uint8_t>(buffer, data, rows, row_step, length, step);
  if (item == 4) return gather_rows<std::uint32_t>(buffer, data, rows, row_step, length, step);
  gather_rows<std::uint64_t>(buffer, data, rows, row_step, length, step);
}

}  // namespace

Reduction::Reduction(const char* op, const Tensor& input, const SmallVector<bool, 8>& reduced,
                     bool keepdim)
    : op_(op), input_(input) {
  const IntSpan sizes = input.sizes();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (reduced[i]) {
      length_ *= sizes[i];
      if (keepdim) result_sizes_.push_back(1);
    } else {
      order_.push_back(std::int64_t(i));
      remaining_sizes_.push_back(sizes[i]);
      result_sizes_.push_back(sizes[i]);
    }
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (reduced[i]) order_.push_back(std::int64_t(i));
  }
}

void Reduction::run(const Rows& loops, void* context, bool by_many) const {
  if (count_elements(remaining_sizes_) == 0) return;
  require_sizes_of(op_, "self", input_.sizes(), input_.dtype());  // of an expanded one, too
  const auto item = std::int64_t(item_size(input_.dtype()));
  const std::size_t remaining = remaining_sizes_.size();
  DimVector sizes, strides;
  for (const std::int64_t dim : order_) {
    sizes.push_back(input_.sizes()[std::size_t(dim)]);
    strides.push_back(input_.strides()[std::size_t(dim)]);
  }
  // Join the reduced dimensions, innermost first. `reach` is the step that the next one needs.
  std::int64_t step = 0, reach = 0;
  bool joined = true, any = false;
  for (std::size_t i = sizes.size(); i-- > remaining && length_ > 0;) {
    if (sizes[i] == 1) continue;
    if (!any) step = strides[i];
    joined = joined && (!any || strides[i] == reach);
    reach = wrapped_product(strides[i], sizes[i]);
    any = true;
  }
  if (joined) {
    strides.resize(remaining);
    for (std::int64_t& stride : strides) stride = wrapped_product(stride, item);
    const auto* data = static_cast<const std::byte*>(input_.impl()->data());
    return without_gil_for(input_.numel(), [&] {
      each_row_of(data, length_ <= 1 ? item : step * item, strides, loops, context, by_many);
    });
  }
  const Tensor copy =
      row_major_copy(op_, input_.as_strided(sizes, strides, input_.storage_offset()));
  DimVector steps(IntSpan(copy.strides()).first(remaining));
  for (std::int64_t& stride : steps) stride = wrapped_product(stride, item);
  const auto* const data = static_cast<const std::byte*>(copy.impl()->data());
  without_gil_for(copy.numel(), [&] { each_row_of(data, item, steps, loops, context, by_many); });
}

// Work is cut between rows, so that a row is the same on every thread.
void Reduction::each_row_of(const std::byte* data, std::int64_t step, const DimVector& steps,
                            const Rows& loops, void* context, bool by_many) const {
  const std::int64_t rows = count_elements(remaining_sizes_);
  const std::int64_t length = std::max<std::int64_t>(length_, 1);
  if (!by_many || rows * length < 2 * kElementsOfAThread) {
    return take_rows(data, step, steps, loops, context, 0, rows);
  }
  const std::int64_t grain = std::max<std::int64_t>(kElementsOfAThread / length, 1);
  parallel_for(0, rows, grain, [&](std::int64_t begin, std::int64_t end) {
    take_rows(data, step, steps, loops, context, begin, end);
  });
}

void Reduction::take_rows(const std::byte* data, std::int64_t step, const DimVector& steps,
                          const Rows& loops, void* context, std::int64_t begin,
                          std::int64_t end) const {
  const auto item = std::int64_t(item_size(input_.dtype()));
  const std::size_t dims = remaining_sizes_.size();
  const std::int64_t line = dims == 0 ? 1 : remaining_sizes_[dims - 1];
  const std::int64_t line_step = dims == 0 ? 0 : steps[dims - 1];
  const bool side_by_side = step != item && line_step == item && loops.columns != nullptr;
  std::unique_ptr<std::byte[]> buffer;
  if (step != item && !side_by_side) {
    buffer.reset(new std::byte[std::size_t(kGathered * length_ * item)]);
  }
  for (std::int64_t position = begin; position < end;) {
    // Where the rest of this line of rows begins.
    const std::byte* from = data + position % line * line_step;
    std::int64_t outer = position / line;
    for (std::size_t dim = dims; dim-- > 1;) {
      from += outer % remaining_sizes_[dim - 1] * steps[dim - 1];
      outer /= remaining_sizes_[dim - 1];
    }
    const std::int64_t stop = std::min(end, (position / line + 1) * line);
    while (position < stop) {
      const std::int64_t rows = std::min(kGathered, stop - position);
      if (side_by_side) {
        loops.columns(from, length_, step, rows, position, context);
      } else {
        if (buffer) gather_bytes(item, buffer.get(), from, rows, line_step, length_, step);
        for (std::int64_t row = 0; row < rows; ++row) {
          loops.row(buffer ? buffer.get() + row * length_ * item : from + row * line_step, length_,
                    position + row, context);
        }
      }
      position += rows;
      from += rows * line_step;
    }
  }
}

SmallVector<bool, 8> reduced_dims(const char* op, std::optional<IntSpan> dims, const Tensor& self) {
  if (!dims || dims->empty()) {
    return SmallVector<bool, 8>(std::size_t(self.dim() == 0 ? 1 : self.dim()), true);
  }
  return dim_flags(op, *dims, self.dim());
}

void require_elements(const char* op, const char* what, const Tensor& self,
                      const Reduction& reduction) {
  if (reduction.length() == 0 && count_elements(reduction.result_sizes()) > 0) {
    refuse(ErrorKind::BadValue, {op, ": self is ", self, ", and no elements have no ", what,
                                 "; reduce dimensions that have elements"});
  }
}

}  // namespace opyard::kernels
