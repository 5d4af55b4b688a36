// autograd/forward/transpose.cpp: writing the adjoint of a formula.
//
//   1  the formula is differentiated backward by its gradients, which adds a stage
//   2  both stages become one graph, which gives what the second gave, and reads results where the
//      first read gradients
//   3  what nothing uses goes; what is left of the first stage must not be read but for its sizes
#include "forward/transpose.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "opyard/jit/differentiate.h"
#include "opyard/jit/passes.h"
#include "opyard/jit/symbol.h"

namespace opyard::autograd {
namespace {

using Kind = jit::FormulaNames::Kind;
using Values = std::unordered_map<const jit::Value*, jit::Value*>;

bool has_blocks(const jit::Graph& graph) {
  return std::ranges::any_of(graph.nodes(),
                             [](const jit::Node* node) { return !node->blocks().empty(); });
}

// The result beside each gradient that the formula reads.
jit::Value* result_of(const jit::Graph& graph, const jit::FormulaNames& names, std::size_t result) {
  for (std::size_t i = 0; i < names.meanings.size(); ++i) {
    if (names.meanings[i].kind == Kind::Result && names.meanings[i].index == result) {
      return graph.inputs()[i];
    }
  }
  return nullptr;
}

// Whether anything but sizes is read of what comes of `begin`, as of a gradient.
bool reads_gradient(const jit::Graph& graph, const std::vector<jit::Value*>& begin) {
  std::unordered_set<const jit::Value*> comes_of(begin.begin(), begin.end());
  for (const jit::Node* const node : graph.nodes()) {
    if (jit::is_question(*node)) continue;
    const bool is_of = std::ranges::any_of(node->inputs(), [&](const jit::Value* input) {
      return comes_of.contains(input) && jit::reads_elements(*input);
    });
    if (!is_of) continue;
    for (const jit::Value* const output : node->outputs()) comes_of.insert(output);
  }
  return std::ranges::any_of(graph.outputs(),
                             [&](const jit::Value* output) { return comes_of.contains(output); });
}

class Transposition {
 public:
  Transposition(const jit::Graph& formula, const jit::FormulaNames& names)
      : staged_(formula.copy()), names_(names) {}

  Transposed run() {
    if (has_blocks(*staged_) || !differentiate()) return {};
    if (has_blocks(*staged_)) return {};
    jit::GraphPtr graph = join();
    if (!graph) return {};
    jit::passes::eliminate_dead_code(*graph);
    if (reads_gradient(*graph, gradients_)) return {};
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      gradients_[i]->replace_all_uses_with(result_of(*graph, names_, transposed_.results[i]));
    }
    transposed_.graph = std::move(graph);
    return std::move(transposed_);
  }

 private:
  // 1.
  bool differentiate() {
    std::vector<jit::Value*> wrt;
    for (std::size_t i = 0; i < names_.meanings.size(); ++i) {
      jit::Value* const input = staged_->inputs()[i];
      if (names_.meanings[i].kind != Kind::Gradient || !input->has_uses()) continue;
      if (std::ranges::find(transposed_.results, names_.meanings[i].index) !=
          transposed_.results.end()) {
        return false;  // read by two names
      }
      wrt.push_back(input);
      transposed_.results.push_back(names_.meanings[i].index);
    }
    if (wrt.empty() || staged_->outputs().size() != 1) return false;
    for (const std::size_t result : transposed_.results) {
      if (result_of(*staged_, names_, result) == nullptr) return false;
    }
    try {
      jit::passes::differentiate(*staged_, wrt);
    } catch (const Error&) {
      return false;  // a node has no formula as text: the tape takes it
    }
    wrt_ = std::move(wrt);
    return true;
  }

  // 2.
  jit::GraphPtr join() {
    jit::GraphPtr graph = jit::make_graph();
    Values here;
    for (jit::Value* const input : staged_->inputs()) {
      here[input] = graph->add_input({}, input->type());
    }
    for (const jit::Node* const node : staged_->nodes()) {
      jit::Node* const copy = graph->append_node(
          graph->create_copy(node, [&](jit::Value* one) { return here.at(one); }));
      copy->set_stage(0);
      for (std::size_t i = 0; i < node->outputs().size(); ++i) {
        here[node->outputs()[i]] = copy->outputs()[i];
      }
    }
    for (std::size_t i = 0; i < staged_->outputs().size(); ++i) {
      if (staged_->output_stage(i) == 1) graph->register_output(here.at(staged_->outputs()[i]));
    }
    if (graph->outputs().size() != wrt_.size()) return {};
    for (jit::Value* const one : wrt_) gradients_.push_back(here.at(one));
    return graph;
  }

  const jit::GraphPtr staged_;
  const jit::FormulaNames& names_;
  Transposed transposed_;
  std::vector<jit::Value*> wrt_;        // in staged_
  std::vector<jit::Value*> gradients_;  // the same in the graph that is made
};

}  // namespace

Transposed transpose(const jit::Graph& formula, const jit::FormulaNames& names) {
  return Transposition(formula, names).run();
}

}  // namespace opyard::autograd
