// code/check_types.cpp: type checking of a graph before code is made.
//
// Shapes are not checked: what a tensor type says of sizes is of the example that a graph was
// traced with.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "code/code_data.h"
#include "ir/builtins.h"
#include "ir/node_rules.h"
#include "opyard/detail/jit/load_operator.h"
#include "opyard/jit/constant.h"
#include "opyard/schema/relations.h"

namespace opyard::jit {
namespace {

using detail::refuse_node;

bool fits(const TypePtr& narrow, const TypePtr& wide) {
  if (narrow == wide) return true;
  return is_subtype(*runtime_type(*narrow), *runtime_type(*wide));
}

class Check {
 public:
  explicit Check(Callees& callees) : callees_(callees) {}

  void block(const Block* block) {
    for (const Node* const node : block->nodes()) {
      for (const Block* const inner : node->blocks()) this->block(inner);
      this->node(node);
    }
  }

 private:
  void require(const Node* node, const TypePtr& given, const TypePtr& wanted,
               std::string_view what) {
    if (fits(given, wanted)) return;
    refuse_node(*node, fmt::format("has {} of type {}, where {} is wanted", what, type_text(*given),
                                   type_text(*wanted)));
  }
  void require_input(const Node* node, std::size_t index, TypeKind kind) {
    require(node, node->inputs()[index]->type(), base_type(kind), fmt::format("input {}", index));
  }
  void require_output(const Node* node, std::size_t index, const TypePtr& given) {
    const TypePtr& declared = node->outputs()[index]->type();
    if (fits(given, declared)) return;
    refuse_node(*node, fmt::format("gives {} as output {}, which is declared as {}",
                                   type_text(*given), index, type_text(*declared)));
  }
  void require_counts(const Node* node, std::size_t inputs, std::size_t outputs) {
    if (node->inputs().size() == inputs && node->outputs().size() == outputs) return;
    refuse_node(*node, fmt::format("takes {} inputs and gives {} values; it has {} and {}", inputs,
                                   outputs, node->inputs().size(), node->outputs().size()));
  }

  void node(const Node* node) {
    const Symbol kind = node->kind();
    if (operation_of(*node) != nullptr) {
      if (!node->graph().is_restricted()) return kind == prim::Eval ? evaluation(node) : void();
      refuse_node(*node, "has a function of another layer, which a restricted graph may not call");
    }
    if (kind == prim::Constant) return constant(node);
    if (kind == prim::Undefined) {
      require_counts(node, 0, 1);
      return require_output(node, 0, base_type(TypeKind::Tensor));
    }
    if (kind == detail::rare_names().uninitialized) return uninitialized(node);
    if (kind == detail::rare_names().isinstance) return type_question(node);
    if (kind == prim::fork) return fork(node);
    if (kind == prim::FusionGroup) return fusion_group(node);
    if (detail::is_wait(*node)) return wait(node);
    if (kind == prim::If) return branch(node);
    if (kind == prim::Loop) return loop(node);
    if (kind == prim::ListConstruct) return list(node);
    if (kind == prim::ListUnpack) return unpack_list(node);
    if (kind == prim::TupleConstruct) return tuple(node);
    if (kind == prim::TupleUnpack) return unpack_tuple(node);
    if (kind == prim::TupleIndex) return tuple_item(node);
    if (kind == prim::DictConstruct) return dict(node);
    if (kind == prim::unchecked_cast) return require_counts(node, 1, 1);
    if (kind == prim::RaiseException) return raise(node);
    if (kind == prim::PythonOp || kind == prim::CppOp) {
      refuse_node(*node, "has no function; it was read from a text, or its function was taken off");
    }
    if (kind == prim::Eval) {
      refuse_node(*node,
                  "runs gradients, which nothing here does yet: import opyard.autograd, or link "
                  "libopyard_autograd and call autograd::join_graphs()");
    }
    call(node);
  }

  void evaluation(const Node* node) {
    if (node->inputs().empty()) {
      refuse_node(*node, "takes gradients and, last, a pullback, and it has no inputs");
    }
    const jit::Value* const last = node->inputs().back();
    if (last->is_pullback()) return;
    refuse_node(*node, fmt::format("takes gradients and, last, a pullback, and its last input %{} "
                                   "is declared as {}",
                                   last->printed_name(), type_text(*last->type())));
  }

  void constant(const Node* node) {
    const opyard::Value value = constant_value(*node);
    const Type& type = *node->output()->type();
    if (accepts(type, value)) return;
    refuse_node(*node, fmt::format("holds {}, which is no {}", repr(value), type_text(type)));
  }

  void uninitialized(const Node* node) {
    require_counts(node, 0, 1);
    if (find_placeholder(*node->output()->type())) return;
    refuse_node(*node, "is of a type of which no value can take its place");
  }

  void type_question(const Node* node) {
    require_counts(node, 1, 1);
    require_output(node, 0, base_type(TypeKind::Bool));
    const Attribute* const types = node->find_attribute(detail::rare_names().types);
    if (types == nullptr || types->kind() != AttributeKind::tys) {
      refuse_node(*node, "has no types to ask for, which are the attribute 'types'");
    }
  }

  // Neither is counted by the budget of a run.
  void require_unrestricted(const Node* node) {
    if (!node->graph().is_restricted()) return;
    refuse_node(*node, "runs on or waits for another thread, which a restricted graph may not");
  }

  void fork(const Node* node) {
    require_unrestricted(node);
    const Graph& graph = *detail::find_subgraph(*node);
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
      require(node, node->inputs()[i]->type(), graph.inputs()[i]->type(),
              fmt::format("input {}", i));
    }
    require_output(node, 0, compound_type(TypeKind::Future, {fork_result_type(graph)}));
  }

  void fusion_group(const Node* node) {
    if (node->graph().is_restricted()) {
      refuse_node(*node, "runs several operators at once, which a restricted graph may not");
    }
    const Graph& graph = *detail::find_subgraph(*node);
    if (graph.stage() != 0) refuse_node(*node, "has a Subgraph of several stages");
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
      require(node, node->inputs()[i]->type(), graph.inputs()[i]->type(),
              fmt::format("input {}", i));
    }
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
      require_output(node, i, graph.outputs()[i]->type());
    }
  }

  void wait(const Node* node) {
    require_unrestricted(node);
    require_counts(node, 1, 1);
    require_output(node, 0, node->inputs()[0]->type()->elements()[0]);
  }

  void branch(const Node* node) {
    require_input(node, 0, TypeKind::Bool);
    for (const Block* const block : node->blocks()) {
      for (std::size_t i = 0; i < node->outputs().size(); ++i) {
        require_output(node, i, block->outputs()[i]->type());
      }
    }
  }

  void loop(const Node* node) {
    require_input(node, 0, TypeKind::Int);
    require_input(node, 1, TypeKind::Bool);
    const Block& body = *node->blocks().front();
    require(node, body.outputs()[0]->type(), base_type(TypeKind::Bool), "a condition");
    require(node, base_type(TypeKind::Int), body.inputs()[0]->type(), "a trip");
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      const TypePtr& carried = body.inputs()[i + 1]->type();
      require(node, node->inputs()[i + 2]->type(), carried, fmt::format("input {}", i + 2));
      require(node, body.outputs()[i + 1]->type(), carried, fmt::format("carried value {}", i));
      require_output(node, i, carried);
    }
  }

  void list(const Node* node) {
    require_counts(node, node->inputs().size(), 1);
    const TypePtr& type = node->outputs()[0]->type();
    if (type->kind() != TypeKind::List)
      refuse_node(*node, "gives a list, and is declared otherwise");
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      require(node, node->inputs()[i]->type(), type->elements()[0], fmt::format("item {}", i));
    }
  }

  void unpack_list(const Node* node) {
    require_counts(node, 1, node->outputs().size());
    const TypePtr& type = node->inputs()[0]->type();
    if (type->kind() != TypeKind::List)
      refuse_node(*node, "unpacks a list, and takes something else");
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      require_output(node, i, type->elements()[0]);
    }
  }

  void tuple(const Node* node) {
    require_counts(node, node->inputs().size(), 1);
    const TypePtr& type = node->outputs()[0]->type();
    if (type->kind() != TypeKind::Tuple || type->elements().size() != node->inputs().size()) {
      refuse_node(*node, fmt::format("gives a tuple of {}, and is declared as {}",
                                     node->inputs().size(), type_text(*type)));
    }
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      require(node, node->inputs()[i]->type(), type->elements()[i], fmt::format("item {}", i));
    }
  }

  void unpack_tuple(const Node* node) {
    require_counts(node, 1, node->outputs().size());
    const TypePtr& type = node->inputs()[0]->type();
    if (type->kind() != TypeKind::Tuple || type->elements().size() != node->outputs().size()) {
      refuse_node(*node, fmt::format("unpacks {} into {} values", type_text(*type),
                                     node->outputs().size()));
    }
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      require_output(node, i, type->elements()[i]);
    }
  }

  void tuple_item(const Node* node) {
    require_counts(node, 2, 1);
    require_input(node, 1, TypeKind::Int);
    const TypePtr& type = node->inputs()[0]->type();
    const Node* const index = node->inputs()[1]->node();
    if (type->kind() != TypeKind::Tuple) refuse_node(*node, "takes an item of what is no tuple");
    if (index->kind() != prim::Constant) refuse_node(*node, "takes an item that is no constant");
    const auto size = std::int64_t(type->elements().size());
    const std::int64_t given = constant_value(*index).to_int();
    const std::int64_t at = given < 0 ? given + size : given;
    if (at < 0 || at >= size) {
      refuse_node(*node, fmt::format("takes item {} of {}", given, type_text(*type)));
    }
    require_output(node, 0, type->elements()[std::size_t(at)]);
  }

  void dict(const Node* node) {
    const TypePtr& type = node->output()->type();
    if (type->kind() != TypeKind::Dict || node->inputs().size() % 2 != 0) {
      refuse_node(*node, "gives a dict of keys and values in turn, and is declared otherwise");
    }
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      require(node, node->inputs()[i]->type(), type->elements()[i % 2],
              i % 2 == 0 ? "a key" : "a value");
    }
  }

  void raise(const Node* node) {
    if (node->inputs().empty() || !node->outputs().empty()) {
      refuse_node(*node, "takes a text and gives nothing");
    }
    require_input(node, 0, TypeKind::Str);
  }

  // A built-in function of a tensor may call an operator, and others print.
  void require_allowed(const Node* node, const Callee& callee) {
    const Schema& schema = callee.schema();
    const auto has_tensor = [](const std::vector<Argument>& list) {
      return std::any_of(list.begin(), list.end(), [](const Argument& argument) {
        return argument.type->kind() == TypeKind::Tensor;
      });
    };
    const bool plain = callee.builtin != nullptr && !has_tensor(schema.arguments) &&
                       !has_tensor(schema.results) && !detail::has_effects(*callee.builtin);
    if (plain || node->graph().allows(schema.name.name, schema.name.overload)) return;
    const std::string name = opyard::to_string(schema.name);
    refuse_node(
        *node,
        fmt::format("calls {0}, which is not among the operators that this graph may call; "
                    "if you trust it, read the graph with allowed=[\"{0}\"]{1}",
                    name,
                    schema.name.overload.empty()
                        ? ""
                        : fmt::format(", or with \"{}\" for all its overloads", schema.name.name)));
  }

  // Calls of one kind with inputs of the same types are chosen once: most graphs have few of them.
  struct Call {
    Callee callee;
    std::vector<TypePtr> inputs;  // keep the addresses in the key valid
    std::vector<TypePtr> results;
  };
  using CallKey = std::vector<std::uintptr_t>;  // kind, overload, addresses of the types

  const Call& find_call(const Node* node) {
    CallKey key = {node->kind().id(), node->overload().id()};
    for (const Value* const input : node->inputs()) {
      key.push_back(reinterpret_cast<std::uintptr_t>(input->type().get()));
    }
    const auto known = calls_.find(key);
    if (known != calls_.end()) return known->second;
    if (node->kind().qual_string() == "prim::CallFunction") {
      refuse_node(*node,
                  "calls a function that the text does not have; inline it before it is printed "
                  "(torch._C._jit_pass_inline), in the graphs of forks too");
    }
    Call call{resolve(*node), {}, {}};
    for (const Value* const input : node->inputs()) call.inputs.push_back(input->type());
    call.results = result_types(call.callee.schema(), call.inputs);
    return calls_.emplace(std::move(key), std::move(call)).first->second;
  }

  void call(const Node* node) {
    if (!node->blocks().empty()) refuse_node(*node, "has blocks; 'prim::If' and 'prim::Loop' have");
    // TorchScript numbers its warnings.
    if (!node->attributes().empty() && node->kind().qual_string() != "aten::warn") {
      if (node->kind().qual_string() == "prim::GetAttr") {
        refuse_node(*node,
                    "takes something out of a module, of which a graph knows nothing; freeze the "
                    "module before it is printed (torch.jit.freeze), so that its weights are "
                    "constants");
      }
      const std::string_view name = node->kind().qual_string();
      if (!is_known_operator(name)) {
        refuse_node(*node, fmt::format("has an attribute '{}', and there is no kind of node or "
                                       "operator '{}'{}",
                                       node->attributes().front().name.name(), name,
                                       detail::where_it_may_be(name)));
      }
      refuse_node(*node,
                  fmt::format("has an attribute '{}', and calls an operator, which takes its "
                              "arguments as inputs: give it a prim::Constant",
                              node->attributes().front().name.name()));
    }
    const auto& [callee, inputs, results] = find_call(node);
    require_allowed(node, callee);
    if (callee.builtin != nullptr && node->inputs().size() > kMostBuiltinArguments) {
      refuse_node(*node, fmt::format("takes {} inputs; at most {} are accepted",
                                     node->inputs().size(), kMostBuiltinArguments));
    }
    const bool is_open = callee.schema().variadic_arguments || callee.schema().variadic_results;
    if (is_open && callee.op != nullptr) {
      refuse_node(*node, "calls an operator whose number of arguments or results is open");
    }
    if (results.size() != node->outputs().size()) {
      refuse_node(*node, fmt::format("has {} outputs, but {} gives {}", node->outputs().size(),
                                     opyard::to_string(callee.schema()), results.size()));
    }
    for (std::size_t i = 0; i < results.size(); ++i) require_output(node, i, results[i]);
    callees_[node] = callee;
  }

  Callees& callees_;
  std::map<CallKey, Call> calls_;
};

}  // namespace

Callees check_types(const Graph& graph) {
  Callees callees(graph.nodes_made());
  Check(callees).block(graph.block());
  return callees;
}

}  // namespace opyard::jit
