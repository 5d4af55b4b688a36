// passes/peephole_containers.h: peephole rules for lists, dicts and chains of ints.
//
// Each looks at one node, and returns whether another one took its place. What becomes unused is
// left to eliminate_dead_code().
//
// Depends on: jit/aliases.h.
#pragma once

#include <optional>
#include <string_view>

#include "opyard/jit/aliases.h"
#include "opyard/jit/graph.h"

namespace opyard::jit::detail {

bool is_call_of(const Node* node, std::string_view name);
// The number that an int is known to be.
std::optional<std::int64_t> find_known_int(const Value* value);
// Of the type of the node's output, if that is used.
void replace_by_constant(Node* node, const opyard::Value& value);
// The node that made a list which no one writes, here or between two stages; or null.
const Node* find_list(const Value* list, const Aliases& aliases);

// (x + 1) + 2 is x + 3, and (x * 2) * 3 is x * 6. Ints wrap around, so this is exact.
bool shorten_int_chain(Node* node, const Aliases& aliases);
// The length, an item, and a part of a list that was made here.
bool take_from_list(Node* node, const Aliases& aliases);
// The length, an item, and whether there is a key, of a dict that was made here of known keys.
bool take_from_dict(Node* node, const Aliases& aliases);
// len(x.size()) is x.dim(), which makes no list.
bool ask_for_rank(Node* node, const Aliases& aliases);

}  // namespace opyard::jit::detail
