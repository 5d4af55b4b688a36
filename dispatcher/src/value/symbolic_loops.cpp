// value/symbolic_loops.cpp: symbolic sizes of what kernels loop over on meta.
#include "opyard/detail/tensor/symbolic_loops.h"

#include "opyard/value/sym_tensor.h"

namespace opyard::detail {
namespace {

Tensor empty_symbolic_like(const Tensor& like, DType dtype) {
  const SymIntSpan sizes = sym_sizes(like);
  return empty_symbolic({sizes.begin(), sizes.end()}, dtype, like.device());
}

SizeClash find_symbolic_misfit(const Tensor& sizes, const Tensor& to) {
  return find_misfit(sym_sizes(sizes), sym_sizes(to));
}

[[maybe_unused]] const bool are_set =
    (set_symbolic_loops({&empty_symbolic_like, &find_symbolic_misfit}), true);

}  // namespace
}  // namespace opyard::detail
