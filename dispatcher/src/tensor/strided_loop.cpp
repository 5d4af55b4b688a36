// tensor/strided_loop.cpp: dimension order and joining for strided loops.
#include "opyard/tensor/strided_loop.h"

#include "opyard/detail/tensor/symbolic_loops.h"
#include "opyard/tensor/broadcast.h"
#include "opyard/tensor/wrapped_stride.h"

namespace opyard::detail {

void broadcast_strides(const Tensor& x, IntSpan sizes, DimVector& strides) {
  if (const SizeClash misfit = find_misfit(x.sizes(), sizes)) {
    refuse_misfit("transform", {"an input", x}, {"the result", sizes}, misfit);
  }
  expand_strides(x.sizes(), x.strides(), sizes, strides);
}

namespace {

constinit SymbolicLoops symbolic_functions{};

SizeClash find_misfit_of(const Tensor& sizes, const Tensor& to) {
  if (is_symbolic(sizes) || is_symbolic(to)) return symbolic_functions.find_misfit(sizes, to);
  return find_misfit(sizes.sizes(), to.sizes());
}

}  // namespace

void set_symbolic_loops(const SymbolicLoops& functions) noexcept { symbolic_functions = functions; }
const SymbolicLoops& symbolic_loops() noexcept { return symbolic_functions; }

void require_loop_sizes(const Tensor& x, const Tensor& to) {
  if (const SizeClash misfit = find_misfit_of(x, to)) {
    refuse_misfit("transform", {"an input", x}, {"the result", to}, misfit);
  }
}

void require_reduced(const Tensor& result, const Tensor& x) {
  if (const SizeClash misfit = find_misfit_of(result, x)) {
    refuse_misfit("reduce", {"the result", result}, {"x", x}, misfit);
  }
}

// A dimension of size 1 is dropped, and one is joined with the next if every tensor goes on
// seamlessly. Order stays, so that elements come in row-major order.
void join_dimensions(DimVector& sizes, DimVector* strides, std::size_t count) {
  std::size_t left = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) continue;
    bool seamless = left > 0;
    for (std::size_t k = 0; k < count && seamless; ++k) {
      seamless = strides[k][left - 1] == wrapped_product(strides[k][i], sizes[i]);
    }
    if (!seamless) ++left;
    sizes[left - 1] = seamless ? sizes[left - 1] * sizes[i] : sizes[i];
    for (std::size_t k = 0; k < count; ++k) strides[k][left - 1] = strides[k][i];
  }
  if (left == 0) {
    sizes.resize(0);
    sizes.push_back(1);
    for (std::size_t k = 0; k < count; ++k) {
      strides[k].resize(0);
      strides[k].push_back(1);
    }
    return;
  }
  sizes.resize(left);
  for (std::size_t k = 0; k < count; ++k) strides[k].resize(left);
}

}  // namespace opyard::detail
