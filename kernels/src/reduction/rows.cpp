// kernels/reduction/rows.cpp: finding rows in memory, and gathering those that do not lie in one piece.
//
// Overview. The kept dimensions are stepped through in order. The reduced ones are joined to a
// single step if that is possible; if not, the input is copied with the reduced dimensions
// innermost. Then there are two cases:
//
//   step is one element      the row is passed on where it lies
//   step is another          up to sixteen rows that are neighbours in memory are gathered
//                            into a buffer together, since a cache line that is fetched for
//                            one of them holds elements of the next
//
// Summing 1,000 x 1,000 float32 over dimension 0 takes three times what it takes over dimension 1
// (1.3 against 0.44 ms).
#include "reduction/rows.h"

#include <cstring>
#include <memory>

#include "common/copy.h"
#include "common/releasing.h"

namespace opyard::kernels {
namespace {

constexpr std::int64_t kGathered = 16;

// Row i of the buffer gets the elements at data + i * row_step, a `step` apart.
template <typename Bytes>
void gather(std::byte* buffer, const std::byte* data, std::int64_t rows, std::int64_t row_step,
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
  if (item == 1) return gather<std::uint8_t>(buffer, data, rows, row_step, length, step);
  if (item == 4) return gather<std::uint32_t>(buffer, data, rows, row_step, length, step);
  gather<std::uint64_t>(buffer, data, rows, row_step, length, step);
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
      kept_sizes_.push_back(sizes[i]);
      result_sizes_.push_back(sizes[i]);
    }
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (reduced[i]) order_.push_back(std::int64_t(i));
  }
}

void Reduction::each_row(RowLoop loop, void* context) const {
  if (count_elements(kept_sizes_) == 0) return;
  const auto item = std::int64_t(item_size(input_.dtype()));
  const std::size_t kept = kept_sizes_.size();
  DimVector sizes, strides;
  for (const std::int64_t dim : order_) {
    sizes.push_back(input_.sizes()[std::size_t(dim)]);
    strides.push_back(input_.strides()[std::size_t(dim)]);
  }
  // Join the reduced dimensions, innermost first. `reach` is the step that the next one needs.
  std::int64_t step = 0, reach = 0;
  bool joined = true, any = false;
  for (std::size_t i = sizes.size(); i-- > kept && length_ > 0;) {
    if (sizes[i] == 1) continue;
    if (!any) step = strides[i];
    joined = joined && (!any || strides[i] == reach);
    reach = strides[i] * sizes[i];
    any = true;
  }
  if (joined) {
    strides.resize(kept);
    for (std::int64_t& stride : strides) stride *= item;
    const auto* data = static_cast<const std::byte*>(input_.impl()->data());
    return without_gil_for(input_.numel(), [&] {
      each_row_of(data, length_ <= 1 ? item : step * item, strides, loop, context);
    });
  }
  const Tensor copy =
      row_major_copy(op_, input_.as_strided(sizes, strides, input_.storage_offset()));
  DimVector steps(IntSpan(copy.strides()).first(kept));
  for (std::int64_t& stride : steps) stride *= item;
  const auto* const data = static_cast<const std::byte*>(copy.impl()->data());
  without_gil_for(copy.numel(), [&] { each_row_of(data, item, steps, loop, context); });
}

void Reduction::each_row_of(const std::byte* data, std::int64_t step, const DimVector& steps,
                            RowLoop loop, void* context) const {
  const auto item = std::int64_t(item_size(input_.dtype()));
  const std::size_t dims = kept_sizes_.size();
  const std::int64_t line = dims == 0 ? 1 : kept_sizes_[dims - 1];
  const std::int64_t line_step = dims == 0 ? 0 : steps[dims - 1];
  std::unique_ptr<std::byte[]> buffer;
  if (step != item) buffer.reset(new std::byte[std::size_t(kGathered * length_ * item)]);
  DimVector at(dims, 0);
  std::int64_t position = 0;
  while (true) {
    for (std::int64_t i = 0; i < line; i += kGathered) {
      const std::int64_t rows = std::min(kGathered, line - i);
      const std::byte* const from = data + i * line_step;
      if (buffer) gather_bytes(item, buffer.get(), from, rows, line_step, length_, step);
      for (std::int64_t row = 0; row < rows; ++row) {
        loop(buffer ? buffer.get() + row * length_ * item : from + row * line_step, length_,
             position++, context);
      }
    }
    std::size_t dim = dims;
    while (dim > 1) {
      --dim;
      data += steps[dim - 1];
      if (++at[dim - 1] < kept_sizes_[dim - 1]) break;
      data -= steps[dim - 1] * kept_sizes_[dim - 1];
      at[dim - 1] = 0;
      if (dim == 1) return;
    }
    if (dims <= 1) return;
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
