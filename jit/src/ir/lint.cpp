// ir/lint.cpp: graph verifier.
//
// [Walk] Nodes are visited in program order, with the set of values defined so far: a value of a
// block leaves it at the block's end, so that a use outside of the block finds nothing.
//
// [Subgraphs] The graphs that nodes hold are linted with the graph, each once, however many nodes
// share it.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "ir/index_table.h"
#include "ir/node_rules.h"
#include "opyard/jit/graph.h"

namespace opyard::jit {
namespace {

// Deeper than any graph that a person or a pass makes, and far from the end of the stack.
constexpr std::size_t kMostLintNesting = 256;

using Seen = std::unordered_set<const Graph*>;

class Lint {
 public:
  Lint(const Graph& graph, Seen& seen, std::size_t depth)
      : graph_(graph), seen_(seen), depth_(depth), known_(graph.values_made()) {}

  void run() {
    check_block(graph_.block(), nullptr);
    check_uniques();
    for (const Value* const input : graph_.inputs()) check_stage(input->stage(), "input", input);
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Value* const output = graph_.outputs()[i];
      check_stage(graph_.output_stage(i), "output", output);
      if (output->stage() > graph_.output_stage(i)) {
        refuse(graph_.return_node(),
               fmt::format("returns %{} in stage {}, but it is made in stage {}",
                           output->printed_name(), graph_.output_stage(i), output->stage()));
      }
    }
  }

 private:
  [[noreturn]] OPYARD_COLD void refuse(const Node* node, std::string_view what) const {
    detail::refuse_node(*node, what);
  }

  void check_stage(int stage, const char* what, const Value* value) const {
    if (stage >= 0 && stage <= graph_.stage()) return;
    refuse(graph_.return_node(), fmt::format("has {} %{} in stage {}, but the last stage is {}",
                                             what, value->printed_name(), stage, graph_.stage()));
  }

  void check_block(const Block* block, const Node* owner) {
    std::vector<const Value*> defined;
    check_sentinels(block, owner);
    define(block->param_node(), defined);
    const Node* before = block->param_node();
    for (const Node* const node : block->nodes()) {
      check_links(node, before, block);
      check_stages(node, before, owner);
      check_inputs(node);
      detail::check_kind_rules(*node);
      check_subgraph(node);
      for (const Block* const inner : node->blocks()) {
        if (inner->owning_node() != node) refuse(node, "has a block that another node owns");
        check_block(inner, node);
      }
      define(node, defined);
      before = node;
    }
    check_links(block->return_node(), before, block);
    check_inputs(block->return_node());
    for (const Value* const value : defined) {
      Known& known = known_[value];
      if (known.taken != value->uses().size()) {
        check_uses_are_inside(value, block);
        refuse(value->node(),
               fmt::format("gives %{}, which is taken {} times where it is defined, and "
                           "knows {} uses",
                           value->printed_name(), known.taken, value->uses().size()));
      }
      known.is_defined = false;
    }
  }

  // See [Subgraphs].
  void check_subgraph(const Node* node) {
    const Graph* const inner = detail::find_subgraph(*node);
    if (inner == nullptr || !seen_.insert(inner).second) return;
    if (depth_ == kMostLintNesting) {
      refuse(node, fmt::format("has a graph within graphs, {} deep", kMostLintNesting));
    }
    Lint(*inner, seen_, depth_ + 1).run();
  }

  void check_uses_are_inside(const Value* value, const Block* block) const {
    for (const Use& use : value->uses()) {
      const Block* at = use.user->owning_block();
      while (at != nullptr && at != block) {
        at = at->owning_node() == nullptr ? nullptr : at->owning_node()->owning_block();
      }
      if (at == block || block->owning_node() == nullptr) continue;
      refuse(use.user,
             fmt::format("takes %{}, which is a value of a block of {}, and is known "
                         "in there only",
                         value->printed_name(), detail::describe_node(*block->owning_node())));
    }
  }

  void check_sentinels(const Block* block, const Node* owner) const {
    const Node* const param = block->param_node();
    const Node* const ret = block->return_node();
    if (param->kind() != prim::Param || !param->inputs().empty()) {
      refuse(param, "is the first sentinel of a block, which is a prim::Param without inputs");
    }
    if (ret->kind() != prim::Return || !ret->outputs().empty()) {
      refuse(ret, "is the last sentinel of a block, which is a prim::Return without outputs");
    }
    if (block->owning_node() != owner || &block->graph() != &graph_) {
      refuse(param, "is in a block that belongs elsewhere");
    }
  }

  void check_links(const Node* node, const Node* before, const Block* block) const {
    if (&node->graph() != &graph_ || node->owning_block() != block) {
      refuse(node, "is in the list of a block that does not own it");
    }
    if (node->is_destroyed()) refuse(node, "is in a block, but was destroyed");
    if (node->prev() != before) refuse(node, "is not linked to the node before it");
    if (before != block->param_node() && !before->is_before(node)) {
      refuse(node, "has a position that is not behind that of the node before it");
    }
  }

  void check_stages(const Node* node, const Node* before, const Node* owner) const {
    if (owner != nullptr) {
      if (node->stage() != owner->stage()) {
        refuse(node, fmt::format("is of stage {} in a block of a node of stage {}", node->stage(),
                                 owner->stage()));
      }
      return;
    }
    if (before->kind() != prim::Param && node->stage() < before->stage()) {
      refuse(node, fmt::format("is of stage {} and follows one of stage {}", node->stage(),
                               before->stage()));
    }
    if (node->stage() > graph_.stage()) {
      refuse(node, fmt::format("is of stage {}, but the graph's last stage is {}", node->stage(),
                               graph_.stage()));
    }
  }

  void check_inputs(const Node* node) {
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      const Value* const input = node->inputs()[i];
      Known* const found = known_.find(input);
      if (found == nullptr || !found->is_defined) {
        refuse(node,
               fmt::format("takes %{}, which is not defined before it", input->printed_name()));
      }
      ++found->taken;
      if (node->kind() != prim::Return && input->stage() > node->stage()) {
        refuse(node, fmt::format("is of stage {} and takes %{} of stage {}", node->stage(),
                                 input->printed_name(), input->stage()));
      }
    }
  }

  void define(const Node* node, std::vector<const Value*>& defined) {
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      const Value* const value = node->outputs()[i];
      if (value->node() != node || value->offset() != i) {
        refuse(node, fmt::format("has output %{}, which does not know it", value->unique()));
      }
      if (value->unique() >= graph_.next_unique()) {
        refuse(node, fmt::format("gives %{}, but the next number is {}", value->unique(),
                                 graph_.next_unique()));
      }
      if (value->has_debug_name() && graph_.find_value(value->debug_name()) != value) {
        refuse(node, fmt::format("gives %{}, a name that another value has", value->debug_name()));
      }
      check_uses(node, value);
      known_[value] = {0, true};
      defined.push_back(value);
      by_unique_.push_back(value);
    }
  }

  void check_uniques() {
    const auto less = [](const Value* a, const Value* b) {
      return std::pair(a->unique(), a->index()) < std::pair(b->unique(), b->index());
    };
    if (!std::is_sorted(by_unique_.begin(), by_unique_.end(), less)) {
      std::sort(by_unique_.begin(), by_unique_.end(), less);
    }
    const auto same = [](const Value* a, const Value* b) { return a->unique() == b->unique(); };
    const auto found = std::adjacent_find(by_unique_.begin(), by_unique_.end(), same);
    if (found == by_unique_.end()) return;
    const Value* const value = found[1];
    refuse(value->node(),
           fmt::format("gives %{}, a number that another value has", value->unique()));
  }

  void check_uses(const Node* node, const Value* value) const {
    for (const Use& use : value->uses()) {
      if (use.offset >= use.user->inputs().size() || use.user->inputs()[use.offset] != value) {
        refuse(node, fmt::format("gives %{}, which believes to be used by a '{}' node",
                                 value->printed_name(), use.user->kind().qual_string()));
      }
    }
  }

  const Graph& graph_;
  Seen& seen_;
  const std::size_t depth_;
  struct Known {
    std::size_t taken = 0;
    bool is_defined = false;  // see [Walk]
  };
  ValueTable<Known> known_;
  std::vector<const Value*> by_unique_;
};

}  // namespace

void lint(const Graph& graph) {
  Seen seen{&graph};
  Lint(graph, seen, 0).run();
}

}  // namespace opyard::jit
