// opyard/jit/fuse.h: groups of operators that run element by element in one pass over memory.
//
//   const std::size_t groups = passes::fuse(*graph);
//
// Operators in a row that have block functions (jit/block_functions.h) and take each other's
// results become one prim::FusionGroup, whose Subgraph has them. Nothing that is between them
// moves: a write, a call of anything else, a branch and a stage end a row.
//
// [Running] A group reads its inputs a block at a time if they are contiguous tensors on the CPU of
// one dtype, float32 or float64, that broadcast to the sizes that every operator's result has.
// Otherwise, and where gradients are recorded or a call would not reach the kernels, it calls its
// operators. The results have the same bits either way.
//
// Threads: as with Graph.
//
// Depends on: jit/graph.h.
#pragma once

#include <cstddef>

#include "opyard/jit/graph.h"

namespace opyard::jit::passes {

// The number of groups that were made; 0 for a restricted graph, and if no library offers block
// functions. Debug builds lint the graph behind it.
OPYARD_API std::size_t fuse(Graph& graph);

}  // namespace opyard::jit::passes
