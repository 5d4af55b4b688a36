// passes/peephole.cpp: peephole optimization: removes no-ops and folds identities.
//
// Each rule looks at one node and what made its inputs. What takes the place of a value is the same
// value at run time, of the same type; what becomes unused is left to eliminate_dead_code(). Sizes
// in types are no knowledge: they are of an example.
#include <algorithm>
#include <array>
#include <utility>

#include "ir/callee.h"
#include "opyard/jit/aliases.h"
#include "opyard/jit/operation.h"
#include "opyard/jit/passes.h"
#include "opyard/schema/relations.h"
#include "passes/pass.h"
#include "passes/peephole_containers.h"

namespace opyard::jit {
namespace {

using detail::known_value;

using detail::find_known_int;
using detail::is_call_of;

bool is_int(const Value* value, std::int64_t number) { return find_known_int(value) == number; }

bool is_bool(const Value* value, bool truth) {
  if (value->type()->kind() != TypeKind::Bool) return false;
  const std::optional<opyard::Value> known = known_value(value);
  return known && known->to_bool() == truth;
}

bool is_none_value(const Value* value) { return value->type()->kind() == TypeKind::None; }

bool is_never_none(const Value* value) {
  switch (value->type()->kind()) {
    case TypeKind::Int:
    case TypeKind::Float:
    case TypeKind::Bool:
    case TypeKind::Complex:
    case TypeKind::Str:
    case TypeKind::List:
    case TypeKind::Dict:
    case TypeKind::Tuple:
    case TypeKind::Device:
      return true;
    default:
      return false;
  }
}

// x + 0, 0 + x, x - 0, x * 1, 1 * x, x // 1 of ints: x. Floats have a zero with a sign.
Value* find_int_itself(const Node* node) {
  if (node->inputs().size() != 2) return nullptr;
  Value* const left = node->inputs()[0];
  Value* const right = node->inputs()[1];
  if (left->type()->kind() != TypeKind::Int || right->type()->kind() != TypeKind::Int) {
    return nullptr;
  }
  if (is_call_of(node, "aten::add")) {
    return is_int(right, 0) ? left : is_int(left, 0) ? right : nullptr;
  }
  if (is_call_of(node, "aten::mul")) {
    return is_int(right, 1) ? left : is_int(left, 1) ? right : nullptr;
  }
  if (is_call_of(node, "aten::sub")) return is_int(right, 0) ? left : nullptr;
  if (is_call_of(node, "aten::floordiv")) return is_int(right, 1) ? left : nullptr;
  return nullptr;
}

// x and True, x or False, not not x.
Value* find_bool_itself(const Node* node) {
  if (node->inputs().empty() || node->input(0)->type()->kind() != TypeKind::Bool) return nullptr;
  if (is_call_of(node, "aten::__not__") && node->inputs().size() == 1) {
    const Node* const inner = node->input()->node();
    return is_call_of(inner, "aten::__not__") && inner->inputs().size() == 1 ? inner->input()
                                                                             : nullptr;
  }
  if (node->inputs().size() != 2) return nullptr;
  const bool is_and = is_call_of(node, "aten::__and__");
  if (!is_and && !is_call_of(node, "aten::__or__")) return nullptr;
  if (is_bool(node->input(1), is_and)) return node->input(0);
  return is_bool(node->input(0), is_and) ? node->input(1) : nullptr;
}

// A cast or a conversion of what has the type already.
Value* find_uncast(const Node* node) {
  if (node->inputs().size() != 1) return nullptr;
  static constexpr std::pair<const char*, TypeKind> kConversions[] = {
      {"aten::Int", TypeKind::Int},
      {"aten::Float", TypeKind::Float},
      {"aten::Bool", TypeKind::Bool},
      {"aten::str", TypeKind::Str}};
  for (const auto& [name, kind] : kConversions) {
    if (is_call_of(node, name) && node->input()->type()->kind() == kind) return node->input();
  }
  if (node->kind() == prim::unchecked_cast) return node->input();
  const bool unwraps = is_call_of(node, "aten::_unwrap_optional");
  return unwraps && is_never_none(node->input()) ? node->input() : nullptr;
}

class Peephole {
 public:
  explicit Peephole(Graph& graph) : graph_(graph), aliases_(graph) {}

  void run() {
    detail::each_node(graph_.block(), [&](Node* node) { visit(node); });
  }

 private:
  static void replace(Value* value, Value* other) {
    if (value->has_uses() && equal(*value->type(), *other->type())) {
      value->replace_all_uses_with(other);
    }
  }

  void replace_by_constant(Node* node, const opyard::Value& value) {
    detail::replace_by_constant(node, value);
  }

  void visit(Node* node) {
    if (node->kind() == prim::If) return visit_branches(node);
    if (node->kind() == prim::Loop) return visit_loop(node);
    if (node->kind() == prim::ListUnpack) return visit_unpack(node);
    if (node->outputs().size() != 1 || node->inputs().empty()) return;
    for (const auto find : {find_int_itself, find_bool_itself, find_uncast}) {
      if (Value* const same = find(node)) return replace(node->output(), same);
    }
    if (Value* const same = find_done_already(node)) return replace(node->output(), same);
    visit_identity(node);
    visit_decided(node);
    for (const auto shorten : {detail::shorten_int_chain, detail::take_from_list,
                               detail::take_from_dict, detail::ask_for_rank}) {
      if (shorten(node, aliases_)) return;
    }
  }

  // x and False, x or True.
  void visit_decided(Node* node) {
    if (node->inputs().size() != 2 || node->output()->type()->kind() != TypeKind::Bool) return;
    const bool is_or = is_call_of(node, "aten::__or__");
    if (!is_or && !is_call_of(node, "aten::__and__")) return;
    if (is_bool(node->input(0), is_or) || is_bool(node->input(1), is_or)) {
      replace_by_constant(node, is_or);
    }
  }

  // Both branches give the same value from outside; or both give one that is never None.
  static void visit_branches(Node* node) {
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      Value* const first = node->blocks()[0]->outputs()[i];
      const Type& type = *node->outputs()[i]->type();
      if (type.kind() == TypeKind::Optional && is_never_none(first) &&
          equal(*first->type(), type.element()) &&
          equal(*first->type(), *node->blocks()[1]->outputs()[i]->type())) {
        node->outputs()[i]->set_type(first->type());
      }
      const Block* const home = first->node()->owning_block();
      if (first != node->blocks()[1]->outputs()[i] || home == node->blocks()[0]) continue;
      replace(node->outputs()[i], first);
    }
  }

  // A carried value that no trip changes is what the loop was given.
  static void visit_loop(Node* node) {
    const Block* const body = node->blocks()[0];
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      Value* const given = node->inputs()[i + 2];
      Value* const taken = body->inputs()[i + 1];
      Value* const next = body->outputs()[i + 1];
      if (next != taken && next != given) continue;
      if (!equal(*given->type(), *taken->type())) continue;
      replace(node->outputs()[i], given);
      replace(taken, given);
    }
  }

  void visit_unpack(Node* node) {
    const Node* const made = detail::find_list(node->input(), aliases_);
    if (made == nullptr || made->inputs().size() != node->outputs().size()) return;
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      replace(node->outputs()[i], made->inputs()[i]);
    }
  }

  // "x is None" of what cannot be None, and of None.
  void visit_identity(Node* node) {
    const bool is = is_call_of(node, "aten::__is__");
    if ((!is && !is_call_of(node, "aten::__isnot__")) || node->inputs().size() != 2) return;
    const Value* const left = node->input(0);
    const Value* const right = node->input(1);
    if (is_none_value(left) && is_none_value(right)) return replace_by_constant(node, is);
    if ((is_none_value(left) && is_never_none(right)) ||
        (is_none_value(right) && is_never_none(left))) {
      replace_by_constant(node, !is);
    }
  }

  // relu(relu(x)): a second call gives the bits of the first. Both are new tensors, so neither may
  // be written or get out.
  Value* find_done_already(const Node* node) const {
    static constexpr std::array kAgainTheSame = {"aten::relu", "aten::abs", "aten::ceil",
                                                 "aten::floor", "aten::trunc"};
    if (node->inputs().size() != 1 || node->input()->type()->kind() != TypeKind::Tensor) {
      return nullptr;
    }
    const Node* const inner = node->input()->node();
    if (inner->kind() != node->kind() || inner->inputs().size() != 1) return nullptr;
    const bool is_known = std::any_of(kAgainTheSame.begin(), kAgainTheSame.end(),
                                      [&](const char* name) { return is_call_of(node, name); });
    if (!is_known) return nullptr;
    for (const Value* const value : {node->input(), node->output()}) {
      if (aliases_.is_written(value) || aliases_.escapes(value)) return nullptr;
    }
    return node->input();
  }

  Graph& graph_;
  const Aliases aliases_;
};

}  // namespace

bool passes::peephole(Graph& graph) {
  return detail::run_pass(graph, [&] {
    std::uint64_t before;
    do {
      before = graph.version();
      Peephole(graph).run();
    } while (graph.version() != before);
  });
}

}  // namespace opyard::jit
