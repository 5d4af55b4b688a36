// code/lifetimes.cpp: last uses of values.
#include "code/lifetimes.h"

#include <algorithm>

namespace opyard::jit {

Lifetimes::Lifetimes(const Graph& graph) : graph_(graph) {
  int reached = 0;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    reached = std::max(reached, graph.output_stage(i));
    output_stages_.push_back(reached);
  }
}

// In a graph's own block the outputs of a stage come behind its nodes, and before those of the
// next.
bool Lifetimes::is_later(const LastUse& a, const LastUse& b) const {
  if (a.output_stage >= 0 && b.output_stage >= 0) return a.output_stage > b.output_stage;
  if (a.output_stage >= 0) return a.output_stage >= b.node->stage();
  if (b.output_stage >= 0) return a.node->stage() > b.output_stage;
  return b.node->is_before(a.node);
}

LastUse Lifetimes::last_use(const Value* value, const Block* block) const {
  LastUse last;
  for (const Use& use : value->uses()) {
    LastUse found;
    found.node = use.user;
    while (found.node != nullptr && found.node->owning_block() != block) {
      found.node = found.node->owning_node();
      found.nested = true;
    }
    if (found.node == nullptr) continue;
    if (found.node == graph_.return_node()) found.output_stage = output_stages_[use.offset];
    if (found.node == last.node && found.output_stage == last.output_stage) {
      last.nested = last.nested || found.nested;
    } else if (last.node == nullptr || is_later(found, last)) {
      last = found;
    }
  }
  return last;
}

}  // namespace opyard::jit
