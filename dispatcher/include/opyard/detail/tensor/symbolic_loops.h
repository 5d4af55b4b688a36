// opyard/detail/tensor/symbolic_loops.h: symbolic sizes in loops and empty_like() on meta.
//
// Symbolic numbers are values, which tensors know nothing of: value/symbolic_loops.cpp answers.
//
// Depends on: tensor/broadcast.h.
#pragma once

#include "opyard/tensor/broadcast.h"

namespace opyard::detail {

struct SymbolicLoops {
  // A new tensor on meta of these sizes, row-major.
  Tensor (*empty_like)(const Tensor& like, DType dtype);
  // Why `sizes` cannot be expanded to those of `to`, of which one is symbolic: find_misfit().
  SizeClash (*find_misfit)(const Tensor& sizes, const Tensor& to);
};

void set_symbolic_loops(const SymbolicLoops& functions) noexcept;
const SymbolicLoops& symbolic_loops() noexcept;

inline bool is_symbolic(const Tensor& x) {
  return x.defined() && x.impl()->has_policy(TensorImpl::kSymbolic);
}

}  // namespace opyard::detail
