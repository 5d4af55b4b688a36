// passes/moves.cpp: moves of nodes that keep what is computed.
//
// [Ways] A node comes from before the other one or from behind it, and goes to the one side or the
// other. Between the two are nodes that it has to keep its order with: those that need it if it
// moves forwards, those that it needs if it moves backwards, and what has to keep its order with
// them. They are its companions.
//
//   to the far side    node a b [other]  ->  a [other] node b     b, a companion, goes along
//   to the near side   node a b [other]  ->  a node [other] b     it goes past the other one alone
//
// What goes past the other node must not have to keep its order with it.
#include "opyard/detail/jit/moves.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

namespace opyard::jit {
namespace {

// What a node and its blocks do.
struct Doings {
  std::unordered_set<const Value*> uses;
  std::unordered_set<std::uint32_t> reads;
  std::unordered_set<std::uint32_t> writes;
  bool has_effects = false;
  bool writes_outside = false;
};

void add_uses(const Node* node, const Aliases& aliases, Doings& doings) {
  for (const Value* const input : node->inputs()) {
    doings.uses.insert(input);
    for (const std::uint32_t set : aliases.sets_of(input)) doings.reads.insert(set);
  }
}

void add_doings(const Node* node, const Aliases& aliases, Doings& doings) {
  add_uses(node, aliases, doings);
  for (const std::uint32_t set : aliases.written_sets(node)) {
    doings.writes.insert(set);
    doings.writes_outside = doings.writes_outside || aliases.is_outside(set);
  }
  for (const Block* const block : node->blocks()) {
    for (const Node* const inner : block->nodes()) add_doings(inner, aliases, doings);
    add_uses(block->return_node(), aliases, doings);
  }
}

Doings doings_of(const Node* node, const Aliases& aliases) {
  Doings doings;
  add_doings(node, aliases, doings);
  doings.has_effects = aliases.has_effects(node);
  return doings;
}

bool have_common(const std::unordered_set<std::uint32_t>& a,
                 const std::unordered_set<std::uint32_t>& b) {
  const auto& [few, many] = a.size() < b.size() ? std::tie(a, b) : std::tie(b, a);
  return std::any_of(few.begin(), few.end(), [&](std::uint32_t set) { return many.contains(set); });
}

struct Moved {
  Node* node;
  Doings doings;
};

// Whether two nodes of a block, the first one before the second, have to stay in this order.
bool keep_order(const Moved& first, const Moved& second) {
  const Doings& a = first.doings;
  const Doings& b = second.doings;
  for (const Value* const output : first.node->outputs()) {
    if (b.uses.contains(output)) return true;
  }
  if (have_common(a.writes, b.writes) || have_common(a.writes, b.reads) ||
      have_common(a.reads, b.writes)) {
    return true;
  }
  return (a.has_effects && (b.has_effects || b.writes_outside)) ||
         (b.has_effects && a.writes_outside);
}

class Move {
 public:
  Move(Node* node, Node* other, const Aliases& aliases)
      : aliases_(aliases), node_(known(node)), other_(known(other)) {}

  // Whether it was made. See [Ways].
  bool to(bool before) {
    if (node_.node == other_.node) return true;
    is_forwards_ = node_.node->is_before(other_.node);
    if (!find_companions()) return false;
    const bool to_far_side = is_forwards_ != before;
    if (to_far_side && must_keep(node_)) return false;
    for (const Moved& companion : companions_) {
      if (must_keep(companion)) return false;
    }
    if (!to_far_side && !companions_.empty() && is_sentinel(other_.node)) return false;
    // The companions are in the order in which they were found, nearest to the node first.
    Node* last = put_next(node_.node, other_.node, before);
    if (!to_far_side) last = other_.node;
    for (const Moved& companion : companions_) last = put_next(companion.node, last, !is_forwards_);
    return true;
  }

 private:
  static bool is_sentinel(const Node* node) {
    const Block* const block = node->owning_block();
    return node == block->param_node() || node == block->return_node();
  }

  static Node* put_next(Node* node, Node* place, bool before) {
    return before ? node->move_before(place) : node->move_after(place);
  }

  Moved known(Node* node) const { return {node, doings_of(node, aliases_)}; }

  bool must_keep(const Moved& mover) const {
    return is_forwards_ ? keep_order(mover, other_) : keep_order(other_, mover);
  }

  bool is_companion(const Moved& between) const {
    const auto keeps = [&](const Moved& mover) {
      return is_forwards_ ? keep_order(mover, between) : keep_order(between, mover);
    };
    return keeps(node_) || std::any_of(companions_.begin(), companions_.end(), keeps);
  }

  // False if a stage begins on the way.
  bool find_companions() {
    const int stage = node_.node->stage();
    if (!is_sentinel(other_.node) && other_.node->stage() != stage) return false;
    Node* at = node_.node;
    for (;;) {
      at = is_forwards_ ? at->next() : at->prev();
      if (at == other_.node) return true;
      if (at->stage() != stage) return false;
      Moved between = known(at);
      if (is_companion(between)) companions_.push_back(std::move(between));
    }
  }

  const Aliases& aliases_;
  const Moved node_;
  const Moved other_;
  std::vector<Moved> companions_;
  bool is_forwards_ = false;
};

bool try_move(Node* node, Node* other, const Aliases& aliases, bool before) {
  OPYARD_CHECK(node->owning_block() != nullptr && node->owning_block() == other->owning_block(),
               BadValue, "a node moves within its block, and the other one is in another");
  return Move(node, other, aliases).to(before);
}

}  // namespace

bool try_move_before(Node* node, Node* other, const Aliases& aliases) {
  return try_move(node, other, aliases, true);
}
bool try_move_after(Node* node, Node* other, const Aliases& aliases) {
  return try_move(node, other, aliases, false);
}

}  // namespace opyard::jit
