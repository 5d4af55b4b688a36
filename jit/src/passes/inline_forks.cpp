// passes/inline_forks.cpp: inlining of forks that are waited for in the same block.
//
// That is a prim::fork whose future goes to nothing but aten::wait in the same block and stage:
// what reaches the fork waits for it then, and an error comes out either way. Its nodes take the
// fork's place, before what is between fork and wait; which of those ran first was not said before.
// Other forks stay.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "ir/callee.h"
#include "ir/node_rules.h"
#include "opyard/jit/passes.h"
#include "opyard/schema/relations.h"
#include "passes/pass.h"

namespace opyard::jit {
namespace {

// Of all forks together: graphs that share graphs are larger inlined than written.
constexpr std::size_t kMostInlinedNodes = 65'536;

TypePtr result_type(const Graph& inner) {
  if (inner.outputs().size() == 1) return inner.outputs()[0]->type();
  std::vector<TypePtr> types;
  for (const Value* const output : inner.outputs()) types.push_back(output->type());
  return compound_type(TypeKind::Tuple, std::move(types));
}

bool is_waited_for_here(const Node* fork, const Type& result) {
  const auto uses = fork->output()->uses();
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    return detail::is_wait(*use.user) && use.user->owning_block() == fork->owning_block() &&
           use.user->stage() == fork->stage() && equal(*use.user->output()->type(), result);
  });
}

class Inliner {
 public:
  explicit Inliner(Graph& graph) : graph_(graph) {}

  void run() {
    if (graph_.is_restricted()) return;
    std::uint64_t before;
    do {
      before = graph_.version();
      std::vector<Node*> forks;  // their waits go with them, so the walk comes first
      detail::each_node(graph_.block(), [&](Node* node) {
        if (node->kind() == prim::fork) forks.push_back(node);
      });
      for (Node* const fork : forks) visit(fork);
    } while (graph_.version() != before);
  }

 private:
  void visit(Node* node) {
    const Graph* const inner = detail::find_subgraph(*node);
    if (inner == nullptr || inner->is_restricted()) return;
    const TypePtr type = result_type(*inner);
    if (!is_waited_for_here(node, *type) ||
        !detail::have_types_of(node->inputs(), inner->inputs())) {
      return;
    }
    const std::size_t nodes = inner->node_count();
    if (nodes > room_) return;
    room_ -= nodes;
    Value* const result = copy_nodes(node, *inner, type);
    while (node->output()->has_uses()) {
      Node* const wait = node->output()->uses()[0].user;
      wait->output()->replace_all_uses_with(result);
      wait->destroy();
    }
    node->destroy();
  }

  Value* copy_nodes(Node* fork, const Graph& inner, const TypePtr& type) {
    std::unordered_map<const Value*, Value*> values;
    for (std::size_t i = 0; i < inner.inputs().size(); ++i) {
      values[inner.inputs()[i]] = fork->inputs()[i];
    }
    const Graph::Mapping map = [&](Value* value) { return values.at(value); };
    for (const Node* const node : inner.nodes()) {
      Node* const copy = graph_.create_copy(node, map)->insert_before(fork);
      copy->set_stage(fork->stage());
      for (std::size_t i = 0; i < node->outputs().size(); ++i) {
        values[node->outputs()[i]] = copy->outputs()[i];
      }
    }
    std::vector<Value*> results;
    for (Value* const output : inner.outputs()) results.push_back(map(output));
    if (results.size() == 1) return results[0];
    Node* const tuple = graph_.create(prim::TupleConstruct, results)->set_stage(fork->stage());
    return tuple->insert_before(fork)->output()->set_type(type);
  }

  Graph& graph_;
  std::size_t room_ = kMostInlinedNodes;
};

}  // namespace

bool passes::inline_forks(Graph& graph) {
  return detail::run_pass(graph, [&] { Inliner(graph).run(); });
}

}  // namespace opyard::jit
