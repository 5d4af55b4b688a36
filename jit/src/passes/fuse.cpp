// passes/fuse.cpp: grouping of fusible calls. See jit/fuse.h.
//
// A row is what is between two nodes that are neither fusible nor constants, in one block and
// stage. Those of its calls that use each other's results are one group, at the place of the last
// of them: nothing else in the row uses what they give, and all that they take is before the row.
// A tail ends its row. The list of the tensors that one joins is next to it, and goes into its
// group.
#include "opyard/jit/fuse.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fusion/fusible.h"
#include "passes/pass.h"

namespace opyard::jit {
namespace {

using NodeRow = std::vector<Node*>;

constexpr std::size_t kLongestRow = 32;  // see fusion/fused_program.h, kMostValues

class Fuser {
 public:
  explicit Fuser(Graph& graph) : graph_(graph) {}

  std::size_t run() {
    find_rows(graph_.block());
    for (const NodeRow& row : rows_) {
      for (const NodeRow& group : connected(row)) {
        if (group.size() > 1) make_group(group);
      }
    }
    return made_;
  }

 private:
  void find_rows(const Block* block) {
    NodeRow row;
    const auto end_row = [&] {
      if (row.size() > 1) rows_.push_back(row);
      row.clear();
    };
    for (Node* const node : block->nodes()) {
      for (const Block* const inner : node->blocks()) find_rows(inner);
      if (node->kind() == prim::Constant || detail::find_tail_of_list(*node) != nullptr) continue;
      const bool is_call = detail::find_fusible_call(*node).has_value();
      const bool is_tail = !is_call && detail::find_fusible_tail(*node).has_value() &&
                           (is_apart(*node) || list_comes_next(*node));
      const bool goes_on =
          row.empty() || (row.back()->stage() == node->stage() && row.size() < kLongestRow);
      if ((!is_call && !is_tail) || !goes_on) end_row();
      if (is_call || is_tail) row.push_back(node);
      if (is_tail) end_row();
    }
    end_row();
  }

  static bool is_apart(const Node& tail) { return detail::list_of_tail(tail) == nullptr; }
  static bool list_comes_next(const Node& tail) {
    return detail::find_tail_of_list(*detail::list_of_tail(tail)) == &tail;
  }

  // The parts of a row that do not use each other's results, each in order.
  static std::vector<NodeRow> connected(const NodeRow& row) {
    std::unordered_map<const Node*, std::size_t> at;
    std::vector<std::size_t> part(row.size());
    std::iota(part.begin(), part.end(), std::size_t{0});
    for (std::size_t i = 0; i < row.size(); ++i) {
      at[row[i]] = i;
      const Node* const list = detail::list_of_tail(*row[i]);
      for (const Value* const input : list == nullptr ? row[i]->inputs() : list->inputs()) {
        const auto known = at.find(input->node());
        if (known == at.end()) continue;
        const std::size_t joined = part[known->second], own = part[i];
        std::replace(part.begin(), part.end(), joined, own);
      }
    }
    std::vector<NodeRow> parts(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) parts[part[i]].push_back(row[i]);
    return parts;
  }

  // What a group has inside: numbers, and what a conversion is told.
  static bool is_constant(const Value* value) {
    return value->node()->kind() == prim::Constant && value->type()->kind() != TypeKind::Tensor;
  }

  void make_group(const NodeRow& group) {
    const GraphPtr inner = make_graph();
    Node* const fused = graph_.create(prim::FusionGroup, {}, 0);
    fused->set_stage(group.front()->stage());
    fused->insert_before(group.back());
    std::unordered_map<const Value*, Value*> inside;
    std::vector<Node*> constants;
    const Graph::Mapping map = [&](Value* value) {
      const auto known = inside.find(value);
      if (known != inside.end()) return known->second;
      if (is_constant(value)) {
        Node* const node = value->node();
        constants.push_back(node);
        Node* const copy = inner->create_copy(node, [](Value* input) { return input; });
        return inside[value] = inner->append_node(copy->set_stage(0))->output();
      }
      fused->add_input(value);
      return inside[value] = inner->add_input("", value->type());
    };
    NodeRow members = group;
    if (Node* const list = detail::list_of_tail(*group.back())) {
      members.insert(members.end() - 1, list);
    }
    for (const Node* const node : members) {
      Node* const copy = inner->create_copy(node, map)->set_stage(0);
      inner->append_node(copy);
      inside[node->output()] = copy->output();
    }
    give_outputs(members, fused, *inner, inside);
    fused->g_(attr::Subgraph, inner);
    for (auto node = members.rbegin(); node != members.rend(); ++node) (*node)->destroy();
    std::sort(constants.begin(), constants.end());
    constants.erase(std::unique(constants.begin(), constants.end()), constants.end());
    for (Node* const constant : constants) {
      if (!constant->has_uses()) constant->destroy();
    }
    ++made_;
  }

  static void give_outputs(const NodeRow& row, Node* fused, Graph& inner,
                           const std::unordered_map<const Value*, Value*>& inside) {
    const std::unordered_set<const Node*> members(row.begin(), row.end());
    for (const Node* const node : row) {
      Value* const value = node->output();
      const auto uses = value->uses();
      const bool leaves = std::any_of(uses.begin(), uses.end(),
                                      [&](const Use& use) { return !members.contains(use.user); });
      if (!leaves) continue;
      inner.register_output(inside.at(value));
      Value* const given = fused->add_output(value->type());
      const std::vector<Use> before(uses.begin(), uses.end());
      for (const Use& use : before) {
        if (!members.contains(use.user)) use.user->replace_input(use.offset, given);
      }
    }
  }

  Graph& graph_;
  std::vector<NodeRow> rows_;
  std::size_t made_ = 0;
};

}  // namespace

std::size_t passes::fuse(Graph& graph) {
  std::size_t made = 0;
  detail::run_pass(graph, [&] {
    if (!graph.is_restricted()) made = Fuser(graph).run();
  });
  return made;
}

}  // namespace opyard::jit
