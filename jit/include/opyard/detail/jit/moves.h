// opyard/detail/jit/moves.h: moves of a node in its block that change no result of the graph.
//
//   try_move_before(add, mul)    add is directly before mul afterwards, or nothing has changed
//
// What the node needs, or what needs it, moves along where it can: to the same side of the other
// node, or to its other side if the node comes from there. A move is refused that would change what
// a node reads, the order of writes to one memory, or the order of effects such as prints, errors
// and random numbers, and one past the begin of a stage.
//
// `aliases` is of the graph; it stays good, since moves make no memory and no nodes. Both raise
// BadValue for nodes of different blocks.
//
// Depends on: jit/aliases.h.
#pragma once

#include "opyard/jit/aliases.h"

namespace opyard::jit {

OPYARD_API bool try_move_before(Node* node, Node* other, const Aliases& aliases);
OPYARD_API bool try_move_after(Node* node, Node* other, const Aliases& aliases);

}  // namespace opyard::jit
