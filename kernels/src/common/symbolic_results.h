// kernels/common/symbolic_results.h: results on meta of inputs with symbolic sizes.
//
// [Unknown sizes] Two sizes that have to be equal, one of which is symbolic, are taken to be equal,
// and the result has the known one. A symbolic size is taken not to be 1. So nothing is decided
// that a fake kernel cannot know.
//
// Depends on: common/broadcast.h, whose header of the dispatcher has the rule for two sizes.
#pragma once

#include "common/broadcast.h"

namespace opyard::kernels {

std::vector<SymInt> sym_sizes_of(const Tensor& self);

Tensor symbolic_like(const char* op, const Tensor& self, DType dtype);
Tensor symbolic_reduction(const char* op, const Tensor& self, const SmallVector<bool, 8>& reduced,
                          bool keepdim, DType dtype);
Tensor symbolic_diagonal(const Tensor& self, std::int64_t offset, std::size_t dim1,
                         std::size_t dim2);
// The sizes of `a` but its last, then those of `b` but its first.
Tensor symbolic_product(const char* op, const Tensor& a, const Tensor& b);

// Calls aten::expand with sizes that may be symbolic.
Tensor call_expand(const Tensor& self, std::vector<SymInt> sizes);

}  // namespace opyard::kernels
