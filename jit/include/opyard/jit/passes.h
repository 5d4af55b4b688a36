// opyard/jit/passes.h: graph passes: optimizations that a run does not show.
//
//   passes::eliminate_dead_code(*graph);
//
// Every pass asks the alias analysis (jit/aliases.h): a write is a barrier to all that may see it.
// Stages stay: nothing moves from one into another, since a caller may write what it was given
// in between. What a pass may change: a node that is not needed does not run, so it raises no error
// either, and layers and overrides do not see its call.
//
// Debug builds lint the graph behind each pass.
//
// Threads: as with Graph. Nothing is run but built-in functions on numbers, texts and the like, and
// by propagate_shapes() kernels for the backend Meta, of operators that the graph may call.
//
// Depends on: jit/graph.h, jit/passes.def.
#pragma once

#include "opyard/jit/graph.h"

namespace opyard::jit::passes {

// Each gives whether it changed the graph.
#define OPYARD_PASS(name, words) OPYARD_API bool name(Graph& graph);
#include "opyard/jit/passes.def"
#undef OPYARD_PASS

}  // namespace opyard::jit::passes
