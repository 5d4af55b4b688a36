// kernels/common/block_functions.h: what fused groups of a graph may call instead of a kernel.
//
//   fusible("aten::add", "Tensor", &add_tensor, loops().arithmetic.add);
//
// A loop is given that computes what the kernel does where all tensors are of one dtype, and its
// further arguments are the number 1. See opyard/jit/block_functions.h.
//
// Depends on: common/builds.h, opyard/jit/block_functions.h.
#pragma once

#include "common/builds.h"

namespace opyard::kernels {

// Called while the plugin registers; a second offer of the same operator is ignored.
void offer_block_function(const char* name, const char* overload, void (*kernel)(),
                          unsigned operands, const Loops& loops);

// The number of operands is that of the kernel's, without alpha.
template <typename... A>
void fusible(const char* name, const char* overload, Tensor (*kernel)(A...), const Loops& loops) {
  constexpr unsigned kOperands = sizeof...(A) < 2 ? sizeof...(A) : 2;
  offer_block_function(name, overload, reinterpret_cast<void (*)()>(kernel), kOperands, loops);
}

}  // namespace opyard::kernels
