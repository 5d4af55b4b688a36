// ir/node_rules.h: verification rules for kinds of nodes.
//
// Depends on: jit/graph.h.
#pragma once

#include <string_view>

#include "opyard/jit/graph.h"

namespace opyard::jit::detail {

// Raises BadGraph: "%3 = aten::add (stage 0, model.py:3:1) <what>".
[[noreturn]] OPYARD_COLD void refuse_node(const Node& node, std::string_view what);
// "%3 = aten::add (stage 0, model.py:3:1)"
std::string describe_node(const Node& node);

// The graph that a node of its kind runs, in its attribute 'Subgraph'; null if it has none.
const Graph* find_subgraph(const Node& node);

// Names that only texts of others have.
struct RareNames {
  Symbol uninitialized;  // a value that is never read, if control flow wants one
  Symbol isinstance;     // whether its input is of one of the types in the attribute `types`
  Symbol types;
};
const RareNames& rare_names();

// Whether it is an aten::wait for a future.
bool is_wait(const Node& node);

// The rules of the node's kind: counts of inputs, outputs and blocks. Raises BadGraph.
void check_kind_rules(const Node& node);

}  // namespace opyard::jit::detail
