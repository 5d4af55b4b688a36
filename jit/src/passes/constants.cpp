// passes/constants.cpp: constant folding.
//
// Built-in functions alone are called, on numbers, texts and the like. A tensor is never computed:
// a constant tensor shares its memory with others, who may write it between two runs. A call that
// raises stays, and raises when the graph runs.
#include <optional>
#include <vector>

#include "ir/builtins.h"
#include "ir/callee.h"
#include "opyard/jit/aliases.h"
#include "opyard/jit/constant.h"
#include "opyard/jit/operation.h"
#include "opyard/jit/passes.h"
#include "opyard/schema/relations.h"
#include "passes/pass.h"

namespace opyard::jit {
namespace {

using detail::have_types_of;
using detail::known_value;

constexpr std::size_t kLongestFolded = 4096;  // joining texts doubles them each time

// The result of a call whose arguments are known; nothing if it cannot be told.
std::optional<opyard::Value> fold(const Node* node) {
  if (node->outputs().size() != 1 || operation_of(*node) != nullptr) return std::nullopt;
  if (detail::has_memory(*node->output()->type())) return std::nullopt;
  std::vector<opyard::Value> arguments;
  for (const Value* const input : node->inputs()) {
    std::optional<opyard::Value> known = known_value(input);
    if (!known) return std::nullopt;
    arguments.push_back(*std::move(known));
  }
  const std::optional<Callee> callee = detail::find_callee(*node);
  if (!callee || callee->builtin == nullptr) return std::nullopt;
  if (detail::has_effects(*callee->builtin)) return std::nullopt;
  const std::vector<Argument>& declared = callee->schema().arguments;
  for (std::size_t i = arguments.size(); i < declared.size(); ++i) {
    arguments.push_back(*declared[i].default_value);
  }
  std::vector<const opyard::Value*> pointers;
  for (const opyard::Value& argument : arguments) pointers.push_back(&argument);
  pointers.push_back(nullptr);
  opyard::Value results[kMostBuiltinResults];  // the graph is not checked yet: it may give two
  try {
    callee->builtin->run(pointers.data(), results);
  } catch (const Error&) {
    return std::nullopt;
  }
  opyard::Value& result = results[0];
  // An int constant of another type is read as that type, see constant.h.
  const TypePtr& type = node->output()->type();
  const Type& plain = type->kind() == TypeKind::Optional ? type->element() : *type;
  if (result.is_bool() != (plain.kind() == TypeKind::Bool)) return std::nullopt;
  if (result.is_int() && plain.kind() == TypeKind::Float) return std::nullopt;
  const bool is_long =
      result.kind() == Kind::String && result.to_string_view().size() > kLongestFolded;
  if (is_long) return std::nullopt;
  return std::move(result);
}

// The branch that is always taken becomes nodes of the block around it.
void take_branch(Node* node) {
  const std::optional<opyard::Value> condition = known_value(node->input());
  if (!condition) return;
  Block* const taken = node->blocks()[condition->to_bool() ? 0 : 1];
  if (!have_types_of(taken->outputs(), node->outputs())) return;
  const std::vector<Value*> outputs(taken->outputs().begin(), taken->outputs().end());
  for (auto next = taken->nodes().begin(); next != taken->nodes().end();) {
    Node* const inner = *next;
    ++next;
    inner->move_before(node);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    node->outputs()[i]->replace_all_uses_with(outputs[i]);
  }
  node->destroy();
}

// A loop that is never entered gives what it carries.
void skip_loop(Node* node) {
  const std::optional<opyard::Value> trips = known_value(node->input(0));
  const std::optional<opyard::Value> condition = known_value(node->input(1));
  const bool never = (trips && trips->to_int() <= 0) || (condition && !condition->to_bool());
  if (!never || !have_types_of(node->inputs().subspan(2), node->outputs())) return;
  for (std::size_t i = 0; i < node->outputs().size(); ++i) {
    node->outputs()[i]->replace_all_uses_with(node->inputs()[i + 2]);
  }
  node->destroy();
}

void fold_in_node(Graph& graph, Node* node) {
  if (node->kind() == prim::If) {
    take_branch(node);
  } else if (node->kind() == prim::Loop) {
    skip_loop(node);
  } else if (const std::optional<opyard::Value> result = fold(node)) {
    Node* const made = graph.create_constant(*result, node->output()->type());
    made->set_stage(node->stage());
    made->insert_before(node);
    made->output()->copy_metadata(node->output());
    node->replace_all_uses_with(made);
    node->destroy();
  }
}

}  // namespace

bool passes::propagate_constants(Graph& graph) {
  return detail::run_pass(graph, [&] {
    std::uint64_t before;
    do {
      before = graph.version();
      detail::each_node(graph.block(), [&](Node* node) { fold_in_node(graph, node); });
    } while (graph.version() != before);
  });
}

}  // namespace opyard::jit
