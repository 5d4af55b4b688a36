// passes/aliases.cpp: queries of an alias analysis.
#include "opyard/jit/aliases.h"

#include <algorithm>

namespace opyard::jit {
namespace {

bool has_forks_in(const Block* block) {
  return std::any_of(block->nodes().begin(), block->nodes().end(), [](const Node* node) {
    return node->kind() == prim::fork ||
           std::any_of(node->blocks().begin(), node->blocks().end(), has_forks_in);
  });
}

}  // namespace

std::uint32_t Aliases::find(std::uint32_t set) const {
  while (sets_[set].parent != set) set = sets_[set].parent;
  return set;
}

std::vector<std::uint32_t> Aliases::sets_of(const Value* value) const {
  std::vector<std::uint32_t> reached;
  const auto found = values_.find(value);
  if (found == values_.end()) return reached;
  for (std::uint32_t set = found->second; set != kNone; set = sets_[reached.back()].contents) {
    set = find(set);
    if (std::find(reached.begin(), reached.end(), set) != reached.end()) break;
    reached.push_back(set);
  }
  return reached;
}

std::vector<std::uint32_t> Aliases::written_sets(const Node* node) const {
  std::vector<std::uint32_t> roots;
  const auto found = writes_.find(node);
  if (found == writes_.end()) return roots;
  for (const std::uint32_t set : found->second) roots.push_back(find(set));
  return roots;
}

bool Aliases::is_outside(std::uint32_t set) const { return find(set) == kOutside; }

bool Aliases::may_share(const Value* a, const Value* b) const {
  const std::vector<std::uint32_t> left = sets_of(a);
  const std::vector<std::uint32_t> right = sets_of(b);
  return std::find_first_of(left.begin(), left.end(), right.begin(), right.end()) != left.end();
}

bool Aliases::is_written(const Value* value) const {
  const std::vector<std::uint32_t> sets = sets_of(value);
  return std::any_of(sets.begin(), sets.end(),
                     [&](std::uint32_t set) { return sets_[set].written; });
}

bool Aliases::escapes(const Value* value) const {
  const std::vector<std::uint32_t> sets = sets_of(value);
  return std::any_of(sets.begin(), sets.end(),
                     [&](std::uint32_t set) { return sets_[set].escapes; });
}

bool Aliases::escapes_itself(const Value* value) const {
  const auto found = values_.find(value);
  return found != values_.end() && sets_[find(found->second)].escapes;
}

bool Aliases::has_effects(const Node* node) const {
  if (effects_.contains(node)) return true;
  return std::any_of(node->blocks().begin(), node->blocks().end(), [&](const Block* block) {
    return std::any_of(block->nodes().begin(), block->nodes().end(),
                       [&](const Node* inner) { return has_effects(inner); });
  });
}

bool Aliases::writes(const Node* node) const {
  if (writes_.contains(node)) return true;
  return std::any_of(node->blocks().begin(), node->blocks().end(), [&](const Block* block) {
    return std::any_of(block->nodes().begin(), block->nodes().end(),
                       [&](const Node* inner) { return writes(inner); });
  });
}

bool has_forks(const Graph& graph) { return has_forks_in(graph.block()); }

}  // namespace opyard::jit
