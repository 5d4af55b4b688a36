// prepared/drop_dropouts.cpp: removal of dropouts of evaluation, which give what they take.
#include "prepared/preparing.h"

namespace opyard::jit::prepared {
namespace {

// dropout(input, p, train)
bool does_nothing(const Node& node) {
  return is_one_of(node, {"aten::dropout", "aten::dropout_", "aten::feature_dropout",
                          "aten::feature_dropout_", "aten::alpha_dropout", "aten::alpha_dropout_",
                          "aten::feature_alpha_dropout", "aten::feature_alpha_dropout_"}) &&
         node.inputs().size() == 3 && is_false(node.input(2));
}

// What is returned stays a tensor of its own.
bool is_returned(const Node& node) {
  for (const Use& use : node.output()->uses()) {
    if (use.user == node.graph().return_node()) return true;
  }
  return false;
}

}  // namespace

std::size_t drop_dropouts(Graph& graph) {
  std::size_t places = 0;
  for (auto next = graph.nodes().begin(); next != graph.nodes().end();) {
    Node* const node = *next;
    ++next;
    if (!does_nothing(*node) || is_returned(*node)) continue;
    replace(*node, node->input(0));
    ++places;
  }
  return places;
}

}  // namespace opyard::jit::prepared
