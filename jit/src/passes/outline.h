// passes/outline.h: outlining: a node as a function of its own.
//
// Depends on: jit/graph.h.
#pragma once

#include "opyard/jit/graph.h"

namespace opyard::jit::detail {

// Puts a prim::CppOp in the node's place, which runs the node, with its blocks, as a graph of one
// node: it takes what the node and its blocks take from outside. Returns it; the node is destroyed.
// Raises what compiling such a graph raises; the graph is as it was then.
Node* outline(Node& node);

}  // namespace opyard::jit::detail
