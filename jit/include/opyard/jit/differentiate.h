// opyard/jit/differentiate.h: differentiation of a graph: its next stage.
//
//   Value* const wrt[] = {x, w};
//   passes::differentiate(*graph, wrt);
//
// The new stage takes a gradient for each output of the last one through which one flows, in order,
// and gives one for each value of `wrt`. It is written from the formulas beside the operators, the
// very texts by which calls are taped: what it needs of earlier stages stays in registers.
// Gradients of a value are added in the order in which the backward engine adds them, so both give
// the same bits. Applied again it differentiates that stage: double backward.
//
// A gradient is summed to the sizes of its tensor, and converted to its dtype, as the engine does
// it. What dtypes the tensors of a call have is known from their types, as trace() gives them: a
// value whose type does not say is taken to have the dtype of the others. Graphs are for real
// numbers.
//
// With `allow_unused` a value of `wrt` that no output comes of is left out, as is one through which
// no gradient flows; the result says which ones the stage is of.
//
// It raises, and leaves the graph as it was:
//
//   BadValue      a value of `wrt` is no Tensor among the graph's inputs, or is given twice
//   BadGraph      no output comes of `wrt`; a value of it reaches no output; a formula is wrong
//   Unsupported   a gradient would flow through what has no derivative: a tuple, an operator
//                 without one; or the graph writes a tensor in place, which may be one that a
//                 formula reads
//
// [Functions] A gradient goes back through a node with a function of its own, a prim::PythonOp or a
// prim::CppOp, by a pullback that the node then gives, and a prim::Eval that runs backward from it
// (jit/operation.h, [Pullbacks]). A node with blocks, and an operator whose derivative is code,
// become such functions first. The layer that tapes what functions do makes both: until it is
// there, such nodes are refused. From then on the node gives its outputs without any history of
// outside the graph.
//
// Depends on: jit/graph.h.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "opyard/jit/graph.h"

namespace opyard::jit::passes {

// Positions: in `wrt`, of those that the stage gives gradients for; in graph.outputs(), of those
// that it takes gradients of.
struct Differentiated {
  std::vector<std::size_t> wrt;
  std::vector<std::size_t> outputs;
};

// Adds the gradients of the outputs as another stage; see above. Raises BadGraph, Unsupported.
OPYARD_API Differentiated differentiate(Graph& graph, std::span<Value* const> wrt,
                                        bool allow_unused = false);

}  // namespace opyard::jit::passes

namespace opyard::jit {

// See [Functions].
struct PullbackNodes {
  // The node gives a pullback, as its last output, by which gradients reach these of the tensors
  // among its inputs, and for a node that runs from a pullback itself, what that one reaches.
  Value* (*add_pullback)(Node& node, const std::vector<bool>& requires_gradient);
  // The values that an Eval of the node's pullback gives gradients for, in order.
  std::vector<Value*> (*reached)(const Node& node);
  // A node, in no block yet, which takes a gradient for each output of the node but the pullback,
  // and gives one for each value that is reached: zeros if nothing leads to it.
  Node* (*create_eval)(Graph& graph, std::span<Value* const> gradients, Value* pullback);
};
// From now on in this process. The functions have to last as long.
OPYARD_API void set_pullback_nodes(const PullbackNodes& functions) noexcept;

}  // namespace opyard::jit
