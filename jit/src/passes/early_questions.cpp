// passes/early_questions.cpp: moves size queries to the stage that has the value.
//
// [Place] A question is behind the value's node and the fusible calls that follow it: in between it
// would cut the row that they may be a group of.
#include "passes/early_questions.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "fusion/fusible.h"
#include "opyard/jit/formula.h"
#include "opyard/jit/operation.h"

namespace opyard::jit::detail {
namespace {

class EarlyQuestions {
 public:
  explicit EarlyQuestions(Graph& graph) : graph_(graph) {}

  void run() {
    for (Value* const value : values_of_earlier_stages()) {
      std::vector<Use> later;
      for (const Use& use : value->uses()) {
        if (use.user->stage() == graph_.stage()) later.push_back(use);
      }
      if (std::ranges::all_of(later, [&](const Use& use) { return asks(use, value); })) {
        ask(value, later);
      }
    }
  }

 private:
  std::vector<Value*> values_of_earlier_stages() const {
    std::vector<Value*> found;
    std::unordered_set<const Value*> seen;
    for (Node* const node : graph_.nodes()) {
      if (node->stage() != graph_.stage()) continue;
      for (Value* const input : node->inputs()) {
        const bool is_earlier = input->stage() < graph_.stage() && !input->is_pullback() &&
                                input->node()->kind() != prim::Constant;
        if (is_earlier && seen.insert(input).second) found.push_back(input);
      }
    }
    return found;
  }

  static bool is_sum(const Use& use) {
    return use.user->kind().qual_string() == "opyard::sum_to" && use.user->inputs().size() == 2 &&
           use.offset == 1 && use.user->input(1)->type()->kind() == TypeKind::Tensor;
  }

  // By itself, with numbers that are known: nothing else has to be there early.
  static bool asks(const Use& use, const Value* value) {
    const Node& node = *use.user;
    if (node.kind() == prim::Return) return false;
    if (is_sum(use)) return true;
    return is_question(node) && node.outputs().size() == 1 && operation_of(node) == nullptr &&
           std::ranges::all_of(node.inputs(), [&](const Value* input) {
             return input == value || input->node()->kind() == prim::Constant;
           });
  }

  void ask(Value* value, const std::vector<Use>& uses) {
    Value* sizes = nullptr;
    for (const Use& use : uses) {
      if (is_sum(use)) {
        if (sizes == nullptr) sizes = ask_sizes(value);
        sum_to(use.user, sizes);
      } else if (!use.user->is_destroyed()) {
        move(use.user, value);
      }
    }
  }

  Value* ask_sizes(Value* value) {
    Node* const asked = graph_.create(Symbol::from_qual_string("opyard::sizes"), {value});
    asked->output()->set_type(list_of(base_type(TypeKind::Int)));
    return insert_early(asked, value)->output();
  }

  static void sum_to(Node* node, Value* sizes) {
    node->replace_input(1, sizes);
    node->set_overload(Symbol::attr("sizes"));
  }

  void move(Node* question, Value* value) {
    std::vector<Node*> constants;
    Node* const copy = graph_.create_copy(question, [&](Value* input) -> Value* {
      if (input == value) return value;
      constants.push_back(graph_.create_copy(input->node(), [](Value* one) { return one; }));
      return constants.back()->output();
    });
    insert_early(copy, value);
    for (Node* const constant : constants) {
      constant->set_stage(value->stage())->insert_before(copy);
    }
    question->replace_all_uses_with(copy);
    question->destroy();
  }

  // See [Place].
  Node* insert_early(Node* node, const Value* value) {
    node->set_stage(value->stage());
    if (value->node() == graph_.param_node()) {
      const auto nodes = graph_.nodes();
      return node->insert_before(*std::find_if(nodes.begin(), nodes.end(), [&](const Node* one) {
        return one->stage() >= value->stage();
      }));
    }
    Node* place = value->node();
    while (place->next()->kind() != prim::Return && place->next()->stage() == value->stage() &&
           find_fusible_call(*place->next()).has_value()) {
      place = place->next();
    }
    return node->insert_after(place);
  }

  Graph& graph_;
};

}  // namespace

void ask_early(Graph& graph) { EarlyQuestions(graph).run(); }

}  // namespace opyard::jit::detail
