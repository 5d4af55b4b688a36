// code/lifetimes.h: last uses of values in a block.
//
// Depends on: jit/graph.h.
#pragma once

#include <vector>

#include "opyard/jit/graph.h"

namespace opyard::jit {

// The last use of a value among the nodes of one block; uses in blocks below are uses by the node
// around them.
struct LastUse {
  const Node* node = nullptr;  // null: not used
  int output_stage = -1;       // if it is the graph's Return: the stage that returns it
  bool nested = false;         // used in a block of `node`
};

class Lifetimes {
 public:
  explicit Lifetimes(const Graph& graph);

  LastUse last_use(const Value* value, const Block* block) const;
  // The stages in which the outputs are returned: not before those of the outputs in front.
  int output_stage(std::size_t index) const { return output_stages_[index]; }

 private:
  bool is_later(const LastUse& a, const LastUse& b) const;

  const Graph& graph_;
  std::vector<int> output_stages_;
};

}  // namespace opyard::jit
