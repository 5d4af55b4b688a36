// tensor/view_strides.cpp: strides of a view in other sizes, if it needs no copy.
//
// Dimensions whose elements follow each other with one step make a run:
//
//   sizes [4, 3, 5], strides [30, 5, 1]      runs of 4 (step 30) and 15 (step 1)
//   sizes [2, 2, 15] fit: 2 and 2 share the first run, 15 takes the second
//   sizes [6, 10] do not: 10 would take a part of the second run and a part of the first
//
// Both lists are walked from the innermost dimension on: new sizes are taken until their
// product is the run's length, and must meet it exactly.
#include "opyard/tensor/views.h"

namespace opyard {

std::optional<DimVector> find_view_strides(const Tensor& tensor, IntSpan sizes) {
  if (tensor.numel() == 0) return contiguous_strides(sizes);
  const IntSpan old_sizes = tensor.sizes(), old_strides = tensor.strides();
  DimVector strides(sizes.size(), 1);
  std::size_t next = sizes.size();
  std::size_t dim = old_sizes.size();
  while (true) {
    while (dim > 0 && old_sizes[dim - 1] == 1) --dim;
    if (dim == 0) break;
    const std::int64_t step = old_strides[dim - 1];
    std::int64_t run = old_sizes[dim - 1];
    --dim;
    while (dim > 0 && (old_sizes[dim - 1] == 1 || old_strides[dim - 1] == step * run)) {
      run *= old_sizes[--dim];
    }
    std::int64_t taken = 1;
    while (taken < run) {
      if (next == 0) return std::nullopt;
      --next;
      strides[next] = step * taken;
      taken *= sizes[next];
    }
    if (taken != run) return std::nullopt;
  }
  // What is left are sizes of 1, whose strides no element uses.
  while (next > 0) {
    --next;
    strides[next] = next + 1 < sizes.size() ? strides[next + 1] * sizes[next + 1] : 1;
  }
  return strides;
}

}  // namespace opyard
