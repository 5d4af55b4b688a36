// opyard/jit/match.h: subgraph matching.
//
//   const GraphPtr pattern = parse_graph(R"(graph(%x, %w, %b, %one : int):
//     %y : Tensor = aten::matmul(%x, %w)
//     %z : Tensor = aten::add(%y, %b, %one)
//     return (%z))");
//   for (const Match& match : find_matches(*pattern, *graph)) match.value(pattern->inputs()[0]);
//
// An input of the pattern matches any value whose type fits the one it is declared with, and which
// no node of the match gives, unless it is a constant. A node matches one of the same kind, with
// equal attributes and as many inputs and outputs; an overload counts if the pattern names it.
// What a pattern's node gives is used in the graph by the match alone, unless the pattern returns
// it, so that the nodes can be taken away together. All of a match are in one block and stage.
//
// Whether the nodes may be moved is another question: see jit/aliases.h.
//
// Threads: as with Graph.
//
// Depends on: jit/graph.h.
#pragma once

#include <unordered_map>
#include <vector>

#include "opyard/jit/graph.h"

namespace opyard::jit {

struct Match {
  // For each node and value of the pattern, the one that it matches.
  std::unordered_map<const Node*, Node*> nodes;
  std::unordered_map<const Value*, Value*> values;

  Value* value(const Value* of_pattern) const { return values.at(of_pattern); }
};

// In the order of the text by the node that gives the pattern's first output. A node is in one
// match at most: of two that meet the earlier one is given. Raises BadGraph for a pattern with
// stages or blocks, without nodes, of more than 256 nodes, whose nodes are not all needed by its
// first output, or with an input that no node takes.
OPYARD_API std::vector<Match> find_matches(const Graph& pattern, Graph& graph);

}  // namespace opyard::jit
