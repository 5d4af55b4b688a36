// passes/dead_code.cpp: dead-code elimination: removes nodes whose results are unused.
//
// Steps: mark backwards until nothing new is found to be alive; then destroy, from the last node
// to the first. A value is alive if a node or output that is alive takes it; memory is alive if a
// value that is alive reaches it, or if it is outside. A node is alive if it gives a value that is
// alive, writes memory that is alive, has effects, or is around a node that is alive.
#include <unordered_set>

#include "opyard/jit/aliases.h"
#include "opyard/jit/passes.h"
#include "passes/pass.h"

namespace opyard::jit {
namespace {

class DeadCode {
 public:
  explicit DeadCode(Graph& graph) : graph_(graph), aliases_(graph) {}

  void run() {
    for (const Value* const output : graph_.outputs()) mark(output);
    do {
      changed_ = false;
      sweep(graph_.block());
    } while (changed_);
    destroy(graph_.block());
  }

 private:
  bool is_live(const Value* value) const { return values_.contains(value); }

  void mark(const Value* value) {
    if (!values_.insert(value).second) return;
    changed_ = true;
    for (const std::uint32_t set : aliases_.sets_of(value)) sets_.insert(set);
  }

  bool gives_or_writes_live(const Node* node) const {
    for (const Value* const output : node->outputs()) {
      if (is_live(output)) return true;
    }
    for (const std::uint32_t set : aliases_.written_sets(node)) {
      if (aliases_.is_outside(set) || sets_.contains(set)) return true;
    }
    return false;
  }

  bool is_around_live(const Node* node) const {
    for (const Block* const block : node->blocks()) {
      for (const Node* const inner : block->nodes()) {
        if (nodes_.contains(inner)) return true;
      }
    }
    return false;
  }

  void sweep(const Block* block) {
    for (const Node* node = block->return_node()->prev(); node != block->param_node();
         node = node->prev()) {
      if (node->kind() == prim::Loop) mark_carried(node);
      if (node->kind() == prim::If) mark_branches(node);
      for (const Block* const inner : node->blocks()) sweep(inner);
      if (nodes_.contains(node)) continue;
      if (!aliases_.has_effects(node) && !gives_or_writes_live(node) && !is_around_live(node)) {
        continue;
      }
      nodes_.insert(node);
      changed_ = true;
      mark_inputs(node);
    }
  }

  void mark_inputs(const Node* node) {
    const bool is_loop = node->kind() == prim::Loop;
    const std::size_t count = is_loop ? 2 : node->inputs().size();
    for (std::size_t i = 0; i < count; ++i) mark(node->inputs()[i]);
    if (is_loop) mark(node->blocks()[0]->outputs()[0]);
  }

  void mark_branches(const Node* node) {
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      if (!is_live(node->outputs()[i])) continue;
      for (const Block* const block : node->blocks()) mark(block->outputs()[i]);
    }
  }

  void mark_carried(const Node* node) {
    const Block* const body = node->blocks()[0];
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      if (!is_live(node->outputs()[i]) && !is_live(body->inputs()[i + 1])) continue;
      mark(node->inputs()[i + 2]);
      mark(body->outputs()[i + 1]);
      mark(body->inputs()[i + 1]);
    }
  }

  bool is_slot_live(const Node* node, std::size_t slot) const {
    return is_live(node->outputs()[slot]) ||
           (node->kind() == prim::Loop && is_live(node->blocks()[0]->inputs()[slot + 1]));
  }

  void destroy(Block* block) {
    for (Node* node = block->return_node()->prev(); node != block->param_node();) {
      Node* const before = node->prev();
      if (!nodes_.contains(node)) {
        node->destroy();
      } else if (node->kind() == prim::If || node->kind() == prim::Loop) {
        trim(node);
      }
      node = before;
    }
  }

  // Unused outputs of an If or Loop. The users behind it are gone.
  void trim(Node* node) {
    const std::size_t extra = node->kind() == prim::Loop ? 1 : 0;
    for (std::size_t i = node->outputs().size(); i-- > 0;) {
      if (is_slot_live(node, i)) continue;
      for (Block* const block : node->blocks()) block->erase_output(i + extra);
    }
    for (Block* const block : node->blocks()) destroy(block);
    for (std::size_t i = node->outputs().size(); i-- > 0;) {
      if (is_slot_live(node, i)) continue;
      if (extra != 0) {
        node->blocks()[0]->erase_input(i + 1);
        node->remove_input(i + 2);
      }
      node->erase_output(i);
    }
  }

  Graph& graph_;
  const Aliases aliases_;
  std::unordered_set<const Node*> nodes_;
  std::unordered_set<const Value*> values_;
  std::unordered_set<std::uint32_t> sets_;
  bool changed_ = false;
};

}  // namespace

bool passes::eliminate_dead_code(Graph& graph) {
  return detail::run_pass(graph, [&] { DeadCode(graph).run(); });
}

}  // namespace opyard::jit
