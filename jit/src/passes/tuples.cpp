// passes/tuples.cpp: tuple lowering: forwards the elements of tuples that a graph makes.
//
// A tuple that is an input, output, or item of a list stays; so does an item that is declared as a
// wider type, since overloads are chosen by it.
#include "ir/callee.h"
#include "opyard/jit/constant.h"
#include "opyard/jit/passes.h"
#include "opyard/schema/relations.h"
#include "passes/pass.h"

namespace opyard::jit {
namespace {

// The item that a prim::TupleIndex takes, or null if it is not known, or not there.
Value* find_tuple_item(const Node* node) {
  const Node* const made = node->input(0)->node();
  const Node* const index = node->input(1)->node();
  if (made->kind() != prim::TupleConstruct || index->kind() != prim::Constant) return nullptr;
  const opyard::Value known = constant_value(*index);
  if (known.kind() != Kind::Int) return nullptr;
  const auto count = std::int64_t(made->inputs().size());
  const std::int64_t at = known.int_unchecked() + (known.int_unchecked() < 0 ? count : 0);
  return at < 0 || at >= count ? nullptr : made->inputs()[std::size_t(at)];
}

void lower(Node* node) {
  if (node->kind() == prim::TupleIndex) {
    Value* const item = find_tuple_item(node);
    if (item == nullptr || !equal(*item->type(), *node->output()->type())) return;
    node->output()->replace_all_uses_with(item);
    node->destroy();
  } else if (node->kind() == prim::TupleUnpack) {
    const Node* const made = node->input()->node();
    if (made->kind() != prim::TupleConstruct) return;
    if (made->inputs().size() != node->outputs().size()) return;
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      if (!equal(*made->inputs()[i]->type(), *node->outputs()[i]->type())) return;
    }
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      node->outputs()[i]->replace_all_uses_with(made->inputs()[i]);
    }
    node->destroy();
  }
}

// From the last node to the first, so that a tuple of tuples goes at once.
void drop_unused(Block* block) {
  for (Node* node = block->return_node()->prev(); node != block->param_node();) {
    Node* const before = node->prev();
    for (Block* const inner : node->blocks()) drop_unused(inner);
    if (node->kind() == prim::TupleConstruct && !node->has_uses()) node->destroy();
    node = before;
  }
}

}  // namespace

bool passes::lower_tuples(Graph& graph) {
  return detail::run_pass(graph, [&] {
    detail::each_node(graph.block(), lower);
    drop_unused(graph.block());
  });
}

}  // namespace opyard::jit
