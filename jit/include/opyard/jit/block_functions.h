// opyard/jit/block_functions.h: what a library of kernels offers to groups of fused operators.
//
// A block function computes one operator on a few hundred elements; a group calls those of its
// operators in turn for each block, so that what is between them stays in the processor's nearest
// cache. It gives the bits of its operator's kernel, wherever a block begins.
//
// [Offering] A library defines the operator opyard_fusion::block_functions() -> int, which gives
// the address of a BlockFunctions that is never freed. So neither library is linked to the other,
// and without such an operator nothing is fused. Its kernel has to be a function of C++, which is
// trusted as all native code is; one in Python, in front of it or alone, is not asked.
//
// [Kernel] A group runs its block functions only where each operator's call would reach the kernel
// that is named here. Where a layer, a mode, an override or a watcher is in between, the group
// calls the operators.
//
// Depends on: nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace opyard::jit {

inline constexpr const char* kBlockFunctionsOperator = "opyard_fusion::block_functions";

// Operand i begins at data[i], the written one first, and its next element lies steps[i] bytes
// further; a step is that of elements without gaps, or 0. `context` has 16 bytes, which are 0.
using BlockLoop = void (*)(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                           const void* context);

struct BlockFunction {
  const char* name;        // "aten::add"
  const char* overload;    // "Tensor"
  void (*kernel)();        // see [Kernel]
  std::uint32_t operands;  // the first 1 or 2 arguments; all others have to be the number 1
  // Where all tensors are of this dtype, which the result has, too. Null: not there.
  BlockLoop float32;
  BlockLoop float64;
};

struct BlockFunctions {
  std::uint64_t bytes;  // sizeof(BlockFunction), which tells another version
  std::atomic<std::size_t> count;
  const BlockFunction* functions;
};

}  // namespace opyard::jit
