// prepared/join_equal.cpp: passes of all graphs that keep every bit: what is computed twice, known
// before a run, or not needed.
#include "opyard/jit/passes.h"
#include "prepared/preparing.h"

namespace opyard::jit::prepared {

std::size_t join_equal(Graph& graph) {
  const std::size_t before = graph.node_count();
  passes::propagate_constants(graph);
  passes::peephole(graph);
  passes::eliminate_common_subexpressions(graph);
  passes::eliminate_dead_code(graph);
  const std::size_t after = graph.node_count();
  return before > after ? before - after : 0;
}

}  // namespace opyard::jit::prepared
