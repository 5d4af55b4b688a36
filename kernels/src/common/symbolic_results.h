// kernels/common/symbolic_results.h: results on meta of inputs with symbolic sizes.
//
// [Unknown sizes] Two sizes that have to be equal, one of which is symbolic, are taken to be equal,
// and the result has the known one. A symbolic size is taken not to be 1. So nothing is decided
// that a fake kernel cannot know.
//
// Depends on: common/symbolic.h.
#pragma once

#include "common/symbolic.h"

namespace opyard::kernels {

// See [Unknown sizes].
bool may_be_equal(const SymInt& a, const SymInt& b);

std::vector<SymInt> sym_sizes_of(const Tensor& self);

// The sizes that both broadcast to; nothing if they do not fit.
std::optional<std::vector<SymInt>> find_symbolic_broadcast(SymIntSpan a, SymIntSpan b);
// Of inputs called `names`. Raises BadShape.
std::vector<SymInt> symbolic_broadcast(const char* op, std::span<const Tensor* const> inputs,
                                       std::span<const char* const> names);

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
