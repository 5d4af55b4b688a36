// ir/callee.h: queries of nodes, values and types for passes: callees, constants, types with
// memory.
//
// Depends on: jit/resolve.h.
#pragma once

#include <optional>
#include <vector>

#include "opyard/jit/resolve.h"

namespace opyard::jit::detail {

// Nothing for a node that calls no operator, or an unknown one.
std::optional<Callee> find_callee(const Node& node);
// Whether two calls with the same arguments may differ, by a tag or a generator.
bool is_random(const Callee& callee);

// Whether values of this type own memory that can be written or shared.
bool has_memory(const Type& type);

// What a constant holds; nothing for other values, and for what has memory.
std::optional<opyard::Value> known_value(const Value* value);
// Overloads are chosen by types, so a value may take the place of another of its type only.
bool have_types_of(std::span<Value* const> values, std::span<Value* const> others);

// Calls visit(node) for each node of the block and those below, a node before its blocks. The node
// may be destroyed by the call.
template <typename Visit>
void each_node(Block* block, const Visit& visit) {
  for (auto next = block->nodes().begin(); next != block->nodes().end();) {
    Node* const node = *next;
    ++next;
    visit(node);
    if (node->is_destroyed()) continue;
    for (Block* const inner : node->blocks()) each_node(inner, visit);
  }
}

}  // namespace opyard::jit::detail
