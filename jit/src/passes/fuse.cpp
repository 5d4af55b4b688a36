// passes/fuse.cpp: rows of fusible calls become groups. See jit/fuse.h.
//
// A row is what is between two nodes that are neither fusible nor constants, in one block and
// stage. Those of its calls that use each other's results are one group, at the place of the last
// of them: nothing else in the row uses what they give, and all that they take is before the row.
#include "opyard/jit/fuse.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "passes/fusible.h"
#include "passes/pass.h"

namespace opyard::jit {
namespace {

using Row = std::vector<Node*>;

constexpr std::size_t kLongestRow = 32;  // see code/fused_group.h, [Slots]

class Fuser {
 public:
  explicit Fuser(Graph& graph) : graph_(graph) {}

  std::size_t run() {
    find_rows(graph_.block());
    for (const Row& row : rows_) {
      for (const Row& group : connected(row)) {
        if (group.size() > 1) make_group(group);
      }
    }
    return made_;
  }

 private:
  void find_rows(const Block* block) {
    Row row;
    const auto end_row = [&] {
      if (row.size() > 1) rows_.push_back(row);
      row.clear();
    };
    for (Node* const node : block->nodes()) {
      for (const Block* const inner : node->blocks()) find_rows(inner);
      if (node->kind() == prim::Constant) continue;
      const bool fusible = detail::find_fusible_call(*node).has_value();
      const bool goes_on =
          row.empty() || (row.back()->stage() == node->stage() && row.size() < kLongestRow);
      if (!fusible || !goes_on) end_row();
      if (fusible) row.push_back(node);
    }
    end_row();
  }

  // The parts of a row that do not use each other's results, each in order.
  static std::vector<Row> connected(const Row& row) {
    std::unordered_map<const Node*, std::size_t> at;
    std::vector<std::size_t> part(row.size());
    std::iota(part.begin(), part.end(), std::size_t{0});
    for (std::size_t i = 0; i < row.size(); ++i) {
      at[row[i]] = i;
      for (const Value* const input : row[i]->inputs()) {
        const auto known = at.find(input->node());
        if (known == at.end()) continue;
        const std::size_t joined = part[known->second], own = part[i];
        std::replace(part.begin(), part.end(), joined, own);
      }
    }
    std::vector<Row> parts(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) parts[part[i]].push_back(row[i]);
    return parts;
  }

  // What a group has inside: numbers, and what a conversion is told.
  static bool is_constant(const Value* value) {
    return value->node()->kind() == prim::Constant && value->type()->kind() != TypeKind::Tensor;
  }

  void make_group(const Row& group) {
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
    for (const Node* const node : group) {
      Node* const copy = inner->create_copy(node, map)->set_stage(0);
      inner->append_node(copy);
      inside[node->output()] = copy->output();
    }
    give_outputs(group, fused, *inner, inside);
    fused->g_(attr::Subgraph, inner);
    for (auto node = group.rbegin(); node != group.rend(); ++node) (*node)->destroy();
    std::sort(constants.begin(), constants.end());
    constants.erase(std::unique(constants.begin(), constants.end()), constants.end());
    for (Node* const constant : constants) {
      if (!constant->has_uses()) constant->destroy();
    }
    ++made_;
  }

  static void give_outputs(const Row& group, Node* fused, Graph& inner,
                           const std::unordered_map<const Value*, Value*>& inside) {
    const std::unordered_set<const Node*> members(group.begin(), group.end());
    for (const Node* const node : group) {
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
  std::vector<Row> rows_;
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
