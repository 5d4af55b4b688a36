// passes/pass.h: the frame of a pass: entry checks and the graph's version.
//
// Depends on: jit/graph.h.
#pragma once

#include "opyard/jit/graph.h"

namespace opyard::jit::detail {

// Runs a pass; whether the graph was changed. Debug builds lint it then.
template <typename Body>
bool run_pass(Graph& graph, Body&& body) {
  const std::uint64_t before = graph.version();
  body();
#ifndef NDEBUG
  lint(graph);
#endif
  return graph.version() != before;
}

}  // namespace opyard::jit::detail
