// passes/match.cpp: subgraph matching, from the pattern's first output to its inputs.
//
// Each input of a node has one place, so nothing is tried twice: a match is found or not in a time
// that grows with the pattern alone.
#include "opyard/jit/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "ir/callee.h"
#include "text/print_attribute.h"

namespace opyard::jit {
namespace {

constexpr std::size_t kMostPatternNodes = 256;  // a pattern is read by recursion

[[noreturn]] OPYARD_COLD void refuse_pattern(std::string_view why) {
  fail(ErrorKind::BadGraph, fmt::format("find_matches: the pattern {}", why));
}

void note_needed(const Node* node, std::unordered_set<const Node*>& needed) {
  if (node->kind() == prim::Param || !needed.insert(node).second) return;
  for (const Value* const input : node->inputs()) note_needed(input->node(), needed);
}

void check_pattern(const Graph& pattern) {
  if (pattern.stage() != 0) refuse_pattern("has several stages");
  if (pattern.outputs().empty()) refuse_pattern("returns nothing");
  if (pattern.node_count() > kMostPatternNodes) {
    refuse_pattern(
        fmt::format("has {} nodes; at most {} are found", pattern.node_count(), kMostPatternNodes));
  }
  for (const Value* const input : pattern.inputs()) {
    if (!input->has_uses())
      refuse_pattern(fmt::format("has input %{}, which no node takes", input->printed_name()));
  }
  const Node* const last = pattern.outputs()[0]->node();
  if (last->kind() == prim::Param)
    refuse_pattern("returns one of its inputs first, and no node's value");
  std::unordered_set<const Node*> needed;
  note_needed(last, needed);
  for (const Node* const node : pattern.nodes()) {
    if (!node->blocks().empty()) refuse_pattern("has a node with blocks");
    if (node->payload() != nullptr) refuse_pattern("has a function of another layer");
    if (needed.contains(node)) continue;
    refuse_pattern(fmt::format("has a '{}' node that its first output does not need",
                               node->kind().qual_string()));
  }
}

// Attributes are compared as they print; a graph or a tensor is equal to itself alone.
bool is_same_attribute(const Attribute& a, const Attribute& b) {
  if (a.name != b.name || a.kind() != b.kind()) return false;
  if (const Tensor* const tensor = std::get_if<Tensor>(&a.value)) {
    return tensor->same(std::get<Tensor>(b.value));
  }
  const auto address = [](const Graph& graph) {
    return fmt::format("{}", static_cast<const void*>(&graph));
  };
  return detail::attribute_text(a, address) == detail::attribute_text(b, address);
}

bool hold_the_same(const Node* pattern, const Node* node) {
  return std::equal(pattern->attributes().begin(), pattern->attributes().end(),
                    node->attributes().begin(), node->attributes().end(), is_same_attribute);
}

class Matcher {
 public:
  Matcher(const Graph& pattern, const Node* anchor) : pattern_(pattern), anchor_(anchor) {}

  bool run(Node* at) {
    return match_node(anchor_, at) && inputs_are_outside() && is_used_inside_alone();
  }
  Match take() { return std::move(match_); }

 private:
  bool match_node(const Node* wanted, Node* node) {
    const auto known = match_.nodes.find(wanted);
    if (known != match_.nodes.end()) return known->second == node;
    if (!taken_.insert(node).second) return false;
    if (wanted->kind() != node->kind() || !node->blocks().empty()) return false;
    if (wanted->overload().defined() && wanted->overload() != node->overload()) return false;
    if (wanted->inputs().size() != node->inputs().size() ||
        wanted->outputs().size() != node->outputs().size() || !hold_the_same(wanted, node)) {
      return false;
    }
    match_.nodes.emplace(wanted, node);
    // A constant may be anywhere, also pooled for several.
    const Node* const first = match_.nodes.at(anchor_);
    if (wanted->kind() != prim::Constant &&
        (node->owning_block() != first->owning_block() || node->stage() != first->stage())) {
      return false;
    }
    for (std::size_t i = 0; i < wanted->outputs().size(); ++i) {
      match_.values.emplace(wanted->outputs()[i], node->outputs()[i]);
    }
    for (std::size_t i = 0; i < wanted->inputs().size(); ++i) {
      if (!match_value(wanted->inputs()[i], node->inputs()[i])) return false;
    }
    return true;
  }

  bool match_value(const Value* wanted, Value* value) {
    if (wanted->node()->kind() != prim::Param) {
      return wanted->offset() == value->offset() && match_node(wanted->node(), value->node());
    }
    if (!fits_type(*value->type(), *wanted->type())) return false;
    return match_.values.emplace(wanted, value).first->second == value;
  }

  bool inputs_are_outside() const {
    return std::none_of(pattern_.inputs().begin(), pattern_.inputs().end(),
                        [&](const Value* input) {
                          const Node* const made = match_.values.at(input)->node();
                          return made->kind() != prim::Constant && taken_.contains(made);
                        });
  }

  // But for what the pattern returns, and for constants.
  bool is_used_inside_alone() const {
    for (const auto& [wanted, node] : match_.nodes) {
      if (wanted->kind() == prim::Constant) continue;
      for (std::size_t i = 0; i < node->outputs().size(); ++i) {
        const auto returned = pattern_.outputs();
        if (std::find(returned.begin(), returned.end(), wanted->outputs()[i]) != returned.end()) {
          continue;
        }
        for (const Use& use : node->outputs()[i]->uses()) {
          if (!taken_.contains(use.user)) return false;
        }
      }
    }
    return true;
  }

  const Graph& pattern_;
  const Node* const anchor_;
  Match match_;
  std::unordered_set<const Node*> taken_;
};

}  // namespace

std::vector<Match> find_matches(const Graph& pattern, Graph& graph) {
  check_pattern(pattern);
  const Node* const anchor = pattern.outputs()[0]->node();
  std::vector<Match> matches;
  std::unordered_set<const Node*> used;
  detail::each_node(graph.block(), [&](Node* node) {
    if (node->kind() != anchor->kind()) return;
    Matcher matcher(pattern, anchor);
    if (!matcher.run(node)) return;
    Match match = matcher.take();
    const auto meets = [&](const auto& pair) {
      return pair.first->kind() != prim::Constant && used.contains(pair.second);
    };
    if (std::any_of(match.nodes.begin(), match.nodes.end(), meets)) return;
    for (const auto& [wanted, found] : match.nodes) used.insert(found);
    matches.push_back(std::move(match));
  });
  return matches;
}

}  // namespace opyard::jit
