// opyard/jit/fuse.h: operator fusion: groups that run in one pass over memory.
//
//   const std::size_t groups = passes::fuse(*graph);
//
// Operators in a row that have block functions (jit/block_functions.h) and take each other's
// results become one prim::FusionGroup, whose Subgraph has them. Nothing that is between them
// moves: a write, a call of anything else, a branch and a stage end a row. So does a reduction, or
// tensors that are joined, which is the last operator of its group.
//
// [Running] A group reads its inputs a block at a time if they are on the CPU, are in memory in any
// order, and broadcast to the sizes that every operator's result has, and if the dtypes that each
// operator's tensors have are one: float32, float64 or int64, and bool for what is compared.
// A reduction of the last dimensions, or what joins row-major tensors, is computed with what it
// takes; others are called behind the blocks. For other inputs, and if its calls would be taped or
// would not reach the kernels, a group calls its operators. The results have the same bits either
// way.
//
// What a group does for inputs of certain dtypes, sizes and strides is planned once: a code keeps
// the plans of 16 such kinds for each group.
//
// Threads: as with Graph.
//
// Depends on: jit/graph.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "opyard/jit/graph.h"

namespace opyard::jit::passes {

// The number of groups that were made; 0 for a restricted graph, and if no library offers block
// functions. Debug builds lint the graph behind it.
OPYARD_API std::size_t fuse(Graph& graph);

}  // namespace opyard::jit::passes

namespace opyard::jit {

// Of all groups of the process, so far.
struct FusionCounts {
  std::uint64_t plans;    // that were made
  std::uint64_t unfused;  // runs of a group that called its operators
};
// Of this process until now.
OPYARD_API FusionCounts fusion_counts() noexcept;

}  // namespace opyard::jit
