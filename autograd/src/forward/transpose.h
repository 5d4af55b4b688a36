// autograd/forward/transpose.h: the adjoint of a formula, as a graph.
//
// A formula is linear in the gradient, so what takes its output backward to the gradient is its
// adjoint, whatever the gradient is. The pass writes that with the formulas of the formula's own
// nodes, and takes away what was computed for a gradient. What is asked of the sizes of such a
// value is asked of a result, which has them.
//
// Depends on: jit/graph.h, jit/formula.h.
#pragma once

#include "opyard/jit/formula.h"

namespace opyard::autograd {

// A graph with the formula's inputs, and behind them one for the tangent of each output of the
// formula; it gives one output for each result in `results`, which are those whose gradients the
// formula reads. Null if a node has no formula as text, has blocks, or reads what the gradient is.
struct Transposed {
  jit::GraphPtr graph;
  std::vector<std::size_t> results;
};
Transposed transpose(const jit::Graph& formula, const jit::FormulaNames& names);

}  // namespace opyard::autograd
