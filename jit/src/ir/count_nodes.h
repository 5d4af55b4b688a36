// ir/count_nodes.h: the number of nodes of a block, inner blocks included.
//
// Depends on: jit/block.h, jit/node.h.
#pragma once

#include <cstddef>

#include "opyard/jit/block.h"
#include "opyard/jit/node.h"

namespace opyard::jit {

inline std::size_t count_nodes(const Block* block) {
  std::size_t count = 0;
  for (const Node* const node : block->nodes()) {
    ++count;
    for (const Block* const inner : node->blocks()) count += count_nodes(inner);
  }
  return count;
}

}  // namespace opyard::jit
