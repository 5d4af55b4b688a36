// value/symbolic_loops.cpp: symbolic sizes of what kernels loop over on meta.
#include "opyard/detail/tensor/symbolic_loops.h"

#include "opyard/value/sym_tensor.h"

namespace opyard::detail {
namespace {

Tensor empty_symbolic_like(const Tensor& like, DType dtype) {
  const SymIntSpan sizes = sym_sizes(like);
  const Tensor made = Tensor::empty(DimVector(sizes.size(), 0), dtype, like.device());
  std::vector<SymInt> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) {
    strides[i - 1] =
        is_known_one(sizes[i]) || (!sizes[i].is_symbolic() && sizes[i].expect_int() == 0)
            ? strides[i]
            : strides[i] * sizes[i];
  }
  make_symbolic(made, {sizes.begin(), sizes.end()}, std::move(strides), 0);
  return made;
}

SizeClash find_symbolic_misfit(const Tensor& sizes, const Tensor& to) {
  return find_misfit(sym_sizes(sizes), sym_sizes(to));
}

[[maybe_unused]] const bool are_set =
    (set_symbolic_loops({&empty_symbolic_like, &find_symbolic_misfit}), true);

}  // namespace
}  // namespace opyard::detail
