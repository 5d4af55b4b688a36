// passes/differentiate.cpp: reverse-mode differentiation: a stage that runs the last one backward.
//
//   1  which values may need a gradient: what comes of `wrt`, node by node
//   2  the new stage takes a gradient for each output of the last one that does
//   3  from the last node to the first: each operator's formulas are written behind the others,
//      and what they give is added to the gradients of its inputs
//   4  what the new stage asks of sizes of earlier ones is asked there (passes/early_questions.h)
//
// [Order] The engine runs functions from the last that was taped to the first, and adds what
// arrives in that order, of one function in the order of its arguments. So does step 3.
//
// [Unknown] What an operator without a derivative gives may be a tensor of bools or ints, through
// which no gradient flows, and mostly is. It is an error only if a gradient arrives there.
//
// [Optional] A formula of type Tensor? gives a gradient or None, known when the stage runs. No
// operator of a stage takes None for a gradient, so the node becomes a function, whose pullback
// gives zeros then. One that gives None each time, as for b in "grad * b, None", has no gradient.
#include "opyard/jit/differentiate.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <vector>

#include "ir/callee.h"
#include "ir/node_rules.h"
#include "opyard/inspect/inspect.h"
#include "opyard/jit/constant.h"
#include "opyard/jit/formula.h"
#include "opyard/jit/operation.h"
#include "opyard/schema/relations.h"
#include "passes/early_questions.h"
#include "passes/outline.h"

namespace opyard::jit {
namespace {

using detail::describe_node;

constinit std::atomic<const PullbackNodes*> pullback_nodes{nullptr};

[[noreturn]] OPYARD_COLD void refuse_gradient(const Node& node, std::string_view why) {
  fail(ErrorKind::Unsupported, fmt::format("differentiate(): {} {}", describe_node(node), why));
}

bool is_tensor_type(const Type& type) {
  return type.kind() == TypeKind::Tensor ||
         (type.kind() == TypeKind::Optional && is_tensor_type(type.element()));
}

// Known to hold no real numbers.
bool is_integral(const Type& type) {
  const TensorShape* const shape = find_shape(type);
  return shape != nullptr && shape->dtype && !is_floating_point(*shape->dtype) &&
         !is_complex(*shape->dtype);
}

enum class Flow : std::uint8_t {
  None,     // no gradient flows through it
  Needs,    // one does
  Unknown,  // see [Unknown]
};

class Differentiation {
 public:
  Differentiation(Graph& graph, std::span<Value* const> wrt, bool allow_unused)
      : graph_(graph), wrt_(wrt.begin(), wrt.end()), allow_unused_(allow_unused) {}

  passes::Differentiated run() {
    check();
    for (const Value* const value : wrt_) flows_[value] = Flow::Needs;
    std::vector<Node*> nodes(graph_.nodes().begin(), graph_.nodes().end());
    for (Node*& node : nodes) {
      if (has_no_text(*node)) node = detail::outline(*node);
      find_flow(*node);
    }
    begin_stage();
    for (std::size_t i = nodes.size(); i-- > 0;) {
      const auto outputs = nodes[i]->outputs();
      if (std::any_of(outputs.begin(), outputs.end(),
                      [&](const Value* one) { return gradients_.contains(one); })) {
        run_backward(*nodes[i]);
      }
    }
    for (std::size_t i = 0; i < wrt_.size(); ++i) {
      Value* const value = wrt_[i];
      const auto found = gradients_.find(value);
      if (found == gradients_.end()) {
        if (allow_unused_) continue;
        fail(ErrorKind::BadGraph,
             fmt::format("differentiate(): no gradient reaches %{}: no output of stage {} is "
                         "computed from it; leave it out of wrt",
                         value->printed_name(), graph_.stage() - 1));
      }
      graph_.register_output(found->second);
      done_.wrt.push_back(i);
    }
    detail::ask_early(graph_);
    return std::move(done_);
  }

 private:
  void check() const {
    if (graph_.is_restricted()) {
      fail(ErrorKind::Unsupported,
           "differentiate(): the graph is restricted to some operators, and formulas call others");
    }
    const auto inputs = graph_.inputs();
    for (std::size_t i = 0; i < wrt_.size(); ++i) {
      if (std::find(inputs.begin(), inputs.end(), wrt_[i]) == inputs.end() ||
          !is_tensor_type(*wrt_[i]->type())) {
        fail(ErrorKind::BadValue, fmt::format("differentiate(): wrt[{}] is no Tensor among the "
                                              "graph's inputs",
                                              i));
      }
      if (std::find(wrt_.begin(), wrt_.begin() + std::ptrdiff_t(i), wrt_[i]) !=
          wrt_.begin() + std::ptrdiff_t(i)) {
        fail(ErrorKind::BadValue, fmt::format("differentiate(): wrt[{}], %{}, is given twice", i,
                                              wrt_[i]->printed_name()));
      }
    }
    if (wrt_.empty()) fail(ErrorKind::BadValue, "differentiate(): wrt is empty");
    const Symbol writes = Symbol::attr("writes");  // of a traced function: see jit/trace.h
    detail::each_node(graph_.block(), [&](const Node* node) {
      if (node->find_attribute(writes) != nullptr) {
        refuse_gradient(*node, "writes a tensor that it takes in place, which a formula may read");
      }
      const auto callee = detail::find_callee(*node);
      if (!callee) return;
      for (const Argument& argument : callee->schema().arguments) {
        if (!argument.alias || !argument.alias->is_write) continue;
        refuse_gradient(*node,
                        fmt::format("writes its argument '{}' in place, which a formula may read: "
                                    "use the form that gives a new tensor",
                                    argument.name));
      }
    });
  }

  Flow flow_of(const Value* value) const {
    const auto found = flows_.find(value);
    return found == flows_.end() ? Flow::None : found->second;
  }
  bool comes_of_wrt(const Node& node) const {
    const auto inputs = node.inputs();
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const Value* one) { return flow_of(one) != Flow::None; });
  }

  // 1.
  void find_flow(const Node& node) {
    if (!comes_of_wrt(node)) return;
    if (node.kind() == prim::ListConstruct || node.kind() == prim::ListUnpack) {
      for (const Value* const output : node.outputs()) flows_[output] = Flow::Needs;
      return;
    }
    if (operation_of(node) != nullptr) return find_flow_of_function(node);
    const auto callee = detail::find_callee(node);
    if (!callee || callee->op == nullptr) {
      for (const Value* const output : node.outputs()) {
        if (carries_keys(*output->type())) {
          refuse_gradient(node,
                          callee ? "takes a part of what a gradient flows through; take it by an "
                                   "operator, or unpack the list"
                                 : "has no formula as text: a gradient cannot flow through tuples "
                                   "here");
        }
      }
      return;
    }
    const Flow flow = flow_through(node, *callee->op);
    if (flow == Flow::Unknown && first_unknown_ == nullptr) first_unknown_ = &node;
    for (const Value* const output : node.outputs()) {
      if (carries_keys(*output->type()) && !is_integral(*output->type())) flows_[output] = flow;
    }
  }
  // The pullback of a call is reached by the gradients of what runs from it: see [Functions] in
  // jit/differentiate.h.
  void find_flow_of_function(const Node& node) {
    if (pullback_nodes.load(std::memory_order_acquire) == nullptr) {
      refuse_gradient(node,
                      "is a function, and has no formula as text; load opyard.autograd, or call "
                      "autograd::join_graphs(), which tapes what functions do");
    }
    for (const Value* const output : node.outputs()) {
      if (!is_integral(*output->type())) flows_[output] = Flow::Needs;
    }
  }
  // Whether a gradient flows through it whose way back is no text, or may be none: see [Optional].
  // Such a node becomes a function.
  bool has_no_text(const Node& node) const {
    if (operation_of(node) != nullptr) return false;
    if (!node.blocks().empty()) return comes_of_wrt(node) || uses_in_blocks(node);
    if (!comes_of_wrt(node)) return false;
    const auto callee = detail::find_callee(node);
    if (!callee || callee->op == nullptr) return false;
    const CountedPtr<const Derivative> derivative = inspect::derivative(callee->op->name());
    if (!derivative) return false;
    return derivative->formulas.empty() || may_give_none(node, *callee->op, *derivative);
  }
  bool may_give_none(const Node& node, const Operator& op, const Derivative& derivative) const {
    const FormulaNames names = formula_names(op.schema());
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      if (flow_of(node.input(i)) == Flow::None) continue;
      const Formula* const formula = find_formula(derivative, op.schema().arguments[i].name);
      if (formula == nullptr) continue;
      const ParsedFormula parsed = parse_formula(op, *formula, names);
      if (gradient_kind(parsed, i) == TypeKind::Optional) return true;
    }
    return false;
  }
  // The type of what a formula gives for one of its arguments: None if that is None each time.
  static TypeKind gradient_kind(const ParsedFormula& parsed, std::size_t argument) {
    if (!parsed.graph) return TypeKind::None;
    const auto& all = parsed.arguments;
    const auto place = std::size_t(std::ranges::find(all, argument) - all.begin());
    return parsed.graph->outputs()[place]->type()->kind();
  }
  // A block sees all values above it.
  bool uses_in_blocks(const Node& outer) const {
    for (const Block* const block : outer.blocks()) {
      for (const Node* const node : block->nodes()) {
        if (comes_of_wrt(*node) || uses_in_blocks(*node)) return true;
      }
      for (const Value* const output : block->outputs()) {
        if (flow_of(output) != Flow::None) return true;
      }
    }
    return false;
  }

  Flow flow_through(const Node& node, const Operator& op) const {
    if (op.name().name == "aten::detach") return Flow::None;  // as the tape knows it
    const CountedPtr<const Derivative> derivative = inspect::derivative(op.name());
    if (!derivative) return Flow::Unknown;
    const auto& arguments = op.schema().arguments;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      if (arguments[i].name != "dtype" || node.input(i)->node()->kind() != prim::Constant) continue;
      const opyard::Value dtype = constant_value(*node.input(i)->node());
      if (dtype.is_int() && !is_floating_point(DType(dtype.to_int())) &&
          !is_complex(DType(dtype.to_int()))) {
        return Flow::None;
      }
    }
    const FormulaNames names = formula_names(op.schema());
    bool missing = false;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      if (flow_of(node.input(i)) == Flow::None) continue;
      const Formula* const formula = find_formula(*derivative, arguments[i].name);
      if (formula == nullptr) {
        missing = true;
      } else if (gradient_kind(parse_formula(op, *formula, names), i) != TypeKind::None) {
        return Flow::Needs;
      }
    }
    return missing ? Flow::Unknown : Flow::None;
  }
  static const Formula* find_formula(const Derivative& derivative, const std::string& argument) {
    for (const Formula& formula : derivative.formulas) {
      std::string name;
      for (const char letter : formula.of + ",") {
        if (letter == ' ') continue;
        if (letter != ',') {
          name += letter;
        } else if (std::exchange(name, {}) == argument) {
          return &formula;
        }
      }
    }
    return nullptr;
  }

  // 2.
  void begin_stage() {
    std::vector<Value*> differentiated;
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      if (graph_.output_stage(i) != graph_.stage()) continue;
      Value* const output = graph_.outputs()[i];
      if (flow_of(output) == Flow::None) continue;
      if (!is_tensor_type(*output->type())) {
        fail(ErrorKind::Unsupported,
             fmt::format("differentiate(): the output %{} is of type {}; a gradient is taken of "
                         "Tensors",
                         output->printed_name(), type_text(*output->type())));
      }
      if (flow_of(output) == Flow::Needs) {
        differentiated.push_back(output);
        done_.outputs.push_back(i);
      }
    }
    if (differentiated.empty() && first_unknown_ != nullptr) {
      refuse_gradient(*first_unknown_,
                      "has no formula as text, and no other way leads from wrt to an output");
    }
    if (differentiated.empty()) {
      fail(ErrorKind::BadGraph,
           fmt::format("differentiate(): no output of stage {} is computed from "
                       "wrt",
                       graph_.stage()));
    }
    graph_.advance_stage();
    for (const Value* const output : differentiated) {
      const std::string name = "grad_" + output->printed_name();
      add(output, graph_.add_input(name, output->type()));
    }
  }

  void add(const Value* to, Value* gradient) {
    Value*& sum = gradients_[to];
    sum = sum == nullptr ? gradient : append("aten::add", {sum, gradient});
  }
  Value* append(const char* operation, std::initializer_list<Value*> inputs) {
    Node* const node = graph_.create(Symbol::from_qual_string(operation), inputs);
    return graph_.append_node(node)->output();
  }
  // As the engine has it for a result that no gradient reached.
  Value* gradient_of(Value* value) {
    const auto found = gradients_.find(value);
    return found != gradients_.end() ? found->second : append("aten::zeros_like", {value});
  }

  // 3.
  void run_backward(Node& node) {
    if (node.kind() == prim::ListConstruct) return run_list_construct(node);
    if (operation_of(node) != nullptr) return run_function(node);
    if (node.kind() == prim::ListUnpack) {
      std::vector<Value*> items;
      for (Value* const output : node.outputs()) items.push_back(gradient_of(output));
      Node* const list = graph_.append_node(graph_.create(prim::ListConstruct, items));
      list->output()->set_type(node.input(0)->type());
      return add(node.input(0), list->output());
    }
    const auto callee = detail::find_callee(node);
    const Operator& op = *callee->op;
    const CountedPtr<const Derivative> derivative = inspect::derivative(op.name());
    const FormulaNames names = formula_names(op.schema());
    std::vector<Value*> found(node.inputs().size(), nullptr);
    std::vector<bool> has_formula(node.inputs().size(), false);
    for (const Formula& formula : derivative ? derivative->formulas : std::vector<Formula>{}) {
      if (!tangent_line(formula).empty()) continue;
      const ParsedFormula parsed = parse_formula(op, formula, names);
      const bool wanted =
          std::any_of(parsed.arguments.begin(), parsed.arguments.end(), [&](std::size_t argument) {
            return argument < found.size() && flow_of(node.input(argument)) != Flow::None;
          });
      for (const std::size_t argument : parsed.arguments) {
        if (argument < found.size()) has_formula[argument] = true;
      }
      if (!wanted || !parsed.graph) continue;
      require_known_numbers(node, formula, *parsed.graph, names);
      if (is_of_real_numbers(node)) drop_conjugations(*parsed.graph);
      const std::vector<Value*> values = write(node, op, *parsed.graph, names);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t argument = parsed.arguments[i];
        if (argument < found.size() && gradient_kind(parsed, argument) != TypeKind::None) {
          found[argument] = values[i];
        }
      }
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (flow_of(node.input(i)) != Flow::None && !has_formula[i]) {
        refuse_gradient(
            node, fmt::format("has no formula for '{}'; give it one with derivative(\"{}\", ...)",
                              op.schema().arguments[i].name, op.name().base_name()));
      }
      if (found[i] == nullptr || flow_of(node.input(i)) == Flow::None) continue;
      add(node.input(i), fitted(node, op, node.input(i), found[i]));
    }
  }

  // As the engine has it: summed to the sizes of its tensor, and of its dtype. Formulas of aten sum
  // by themselves, and give the dtype that all tensors of their call have.
  Value* fitted(const Node& node, const Operator& op, Value* input, Value* gradient) {
    if (!is_tensor_type(*input->type())) return gradient;
    if (!op.name().name.starts_with("aten::")) {
      gradient = append("opyard::sum_to", {gradient, input});
    }
    const std::optional<DType> wanted = dtype_of(input);
    if (!wanted || has_one_dtype(node, *wanted)) return gradient;
    const auto constant = [&](opyard::Value value, TypePtr type) {
      return graph_.append_node(graph_.create_constant(std::move(value), std::move(type)))
          ->output();
    };
    Value* const dtype = constant(opyard::Value(std::int64_t(*wanted)), base_type(TypeKind::Int));
    Value* const no = constant(opyard::Value(false), base_type(TypeKind::Bool));
    Value* const none = constant({}, base_type(TypeKind::None));
    return append("aten::_to_copy", {gradient, dtype, none, none, none, no, none});
  }
  static std::optional<DType> dtype_of(const Value* value) {
    const TensorShape* const shape = find_shape(*value->type());
    return shape == nullptr ? std::nullopt : shape->dtype;
  }
  // As the engine, which sees the numbers, refuses it.
  void require_known_numbers(const Node& node, const Formula& formula, const Graph& graph,
                             const FormulaNames& names) {
    if (knows_complex(graph)) return;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
      const FormulaNames::Meaning& meaning = names.meanings[i];
      if (meaning.kind == FormulaNames::Kind::Gradient || !reads_elements(*graph.inputs()[i])) {
        continue;
      }
      const auto values =
          meaning.kind == FormulaNames::Kind::Argument ? node.inputs() : node.outputs();
      if (meaning.index >= values.size()) continue;
      const std::optional<DType> dtype = dtype_of(values[meaning.index]);
      if (!dtype || !is_complex(*dtype)) continue;
      refuse_gradient(
          node, fmt::format("has the formula \"{}\", which reads complex numbers and does not "
                            "say how: write conj() around the factors that are conjugated, as "
                            "in grad * conj(other)",
                            formula.text));
    }
  }
  // Whether it is known that a call takes and gives no complex number.
  static bool is_of_real_numbers(const Node& node) {
    const auto is_real = [](const Value* value) {
      const Type& type = *value->type();
      if (is_tensor_type(type)) {
        const std::optional<DType> dtype = dtype_of(value);
        return dtype && !is_complex(*dtype);
      }
      if (type.kind() != TypeKind::Scalar) return type.kind() != TypeKind::Complex;
      const std::optional<opyard::Value> known = detail::known_value(value);
      return known && !known->is_complex();
    };
    return std::ranges::all_of(node.inputs(), is_real) &&
           std::ranges::all_of(node.outputs(), is_real);
  }
  // Whether no tensor of a call, in or out, is known to have real numbers of another dtype. One
  // without a known dtype is taken as the others are.
  static bool has_one_dtype(const Node& node, DType wanted) {
    const auto differs = [&](const Value* value) {
      const std::optional<DType> dtype = dtype_of(value);
      return dtype && *dtype != wanted && !is_integral(*value->type());
    };
    return std::ranges::none_of(node.inputs(), differs) &&
           std::ranges::none_of(node.outputs(), differs);
  }

  void run_function(Node& node) {
    const PullbackNodes& pullbacks = *pullback_nodes.load(std::memory_order_acquire);
    Value* pullback = node.outputs().empty() ? nullptr : node.outputs().back();
    if (pullback == nullptr || !pullback->is_pullback()) {
      std::vector<bool> wanted;
      for (const Value* const input : node.inputs()) {
        const bool flows = flow_of(input) != Flow::None;
        if (input->type()->kind() == TypeKind::Tensor) {
          wanted.push_back(flows);
        } else if (flows && !input->is_pullback()) {
          refuse_gradient(
              node, fmt::format("takes %{} of type {}, by which a gradient cannot flow into a "
                                "function; give it the Tensors",
                                input->printed_name(), type_text(*input->type())));
        }
      }
      pullback = pullbacks.add_pullback(node, wanted);
    }
    std::vector<Value*> gradients;
    for (Value* const output : node.outputs()) {
      if (output == pullback) break;
      const auto found = gradients_.find(output);
      gradients.push_back(found != gradients_.end()
                              ? found->second
                              : graph_.append_node(graph_.create(prim::Undefined))->output());
    }
    const std::vector<Value*> reached = pullbacks.reached(node);
    for (Value* const input : node.inputs()) {
      if (flow_of(input) == Flow::None || input->is_pullback() ||
          std::ranges::find(reached, input) != reached.end()) {
        continue;
      }
      refuse_gradient(
          node, fmt::format("gives a pullback already, which leaves %{} out: a gradient is wanted "
                            "for it",
                            input->printed_name()));
    }
    Node* const eval = graph_.append_node(pullbacks.create_eval(graph_, gradients, pullback));
    eval->set_source_range(node.source_range());
    for (std::size_t i = 0; i < reached.size(); ++i) {
      if (flow_of(reached[i]) == Flow::None) continue;
      eval->outputs()[i]->set_type(reached[i]->type());
      add(reached[i], eval->outputs()[i]);
    }
  }

  void run_list_construct(const Node& node) {
    Value* const list = gradient_of(node.output());
    Node* const unpack = graph_.append_node(
        graph_.create(prim::ListUnpack, std::span<Value* const>(&list, 1), node.inputs().size()));
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      if (flow_of(node.inputs()[i]) != Flow::None) add(node.inputs()[i], unpack->outputs()[i]);
    }
  }

  // A formula's graph at the end of this one; gives its outputs here.
  std::vector<Value*> write(const Node& node, const Operator& op, const Graph& formula,
                            const FormulaNames& names) {
    std::unordered_map<const Value*, Value*> here;
    const auto map = [&](Value* value) -> Value* {
      Value*& known = here[value];
      if (known == nullptr) known = meaning_of(node, op, names.meanings[value->offset()]);
      return known;
    };
    for (const Node* const one : formula.nodes()) {
      if (is_gradient_by_one(node, one, names, map)) {
        here[one->output()] = map(one->input(0));
        continue;
      }
      Node* const copy = graph_.append_node(graph_.create_copy(one, map));
      copy->set_stage(graph_.stage());
      copy->set_source_range(node.source_range());
      for (std::size_t i = 0; i < one->outputs().size(); ++i) {
        here[one->outputs()[i]] = copy->outputs()[i];
      }
    }
    std::vector<Value*> outputs;
    for (Value* const output : formula.outputs()) outputs.push_back(map(output));
    return outputs;
  }
  // "grad * alpha" with an alpha of 1 has the bits of the gradient, if that is of real numbers.
  template <typename Map>
  static bool is_gradient_by_one(const Node& node, const Node* one, const FormulaNames& names,
                                 const Map& map) {
    if (one->kind().qual_string() != "aten::mul" || one->overload() != Symbol::attr("Scalar")) {
      return false;
    }
    const auto input = [&](std::size_t i) -> std::optional<FormulaNames::Meaning> {
      if (one->input(i)->node()->kind() != prim::Param) return std::nullopt;
      return names.meanings[one->input(i)->offset()];
    };
    if (!input(0) || input(0)->kind != FormulaNames::Kind::Gradient) return false;
    const std::optional<DType> dtype = dtype_of(node.outputs()[input(0)->index]);
    if (!dtype || !is_floating_point(*dtype)) return false;
    if (!input(1) || input(1)->kind != FormulaNames::Kind::Argument) return false;
    const std::optional<opyard::Value> known = detail::known_value(map(one->input(1)));
    return known && known->is_int() && known->to_int() == 1;
  }

  Value* meaning_of(const Node& node, const Operator& op, FormulaNames::Meaning meaning) {
    switch (meaning.kind) {
      case FormulaNames::Kind::Gradient:
        return gradient_of(node.outputs()[meaning.index]);
      case FormulaNames::Kind::Result:
        return node.outputs()[meaning.index];
      case FormulaNames::Kind::Argument:
        break;
    }
    if (meaning.index < node.inputs().size()) return node.inputs()[meaning.index];
    const Argument& argument = op.schema().arguments[meaning.index];
    Node* const constant = graph_.create_constant(*argument.default_value, argument.type);
    return graph_.append_node(constant)->output();
  }

  Graph& graph_;
  const std::vector<Value*> wrt_;
  const bool allow_unused_;
  passes::Differentiated done_;
  const Node* first_unknown_ = nullptr;
  std::unordered_map<const Value*, Flow> flows_;
  std::unordered_map<const Value*, Value*> gradients_;
};

}  // namespace

void set_pullback_nodes(const PullbackNodes& functions) noexcept {
  pullback_nodes.store(&functions, std::memory_order_release);
}

passes::Differentiated passes::differentiate(Graph& graph, std::span<Value* const> wrt,
                                             bool allow_unused) {
  // A copy shows what is wrong, so that a refused graph is as it was.
  const GraphPtr trial = graph.copy();
  std::vector<Value*> there;
  for (Value* const value : wrt) {
    const auto inputs = graph.inputs();
    const auto found = std::find(inputs.begin(), inputs.end(), value);
    there.push_back(found == inputs.end() ? value
                                          : trial->inputs()[std::size_t(found - inputs.begin())]);
  }
  Differentiation(*trial, there, allow_unused).run();
  lint(*trial);
  return Differentiation(graph, wrt, allow_unused).run();
}

}  // namespace opyard::jit
