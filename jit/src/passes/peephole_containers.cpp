// passes/peephole_containers.cpp: peephole rules for lists, dicts and chains of ints.
#include "passes/peephole_containers.h"

#include <algorithm>
#include <vector>

#include "ir/callee.h"
#include "ir/scalar_math.h"
#include "opyard/jit/operation.h"
#include "opyard/schema/relations.h"

namespace opyard::jit::detail {
namespace {

bool replace_value(Value* value, Value* other) {
  if (!value->has_uses() || !equal(*value->type(), *other->type())) return false;
  value->replace_all_uses_with(other);
  return true;
}

// A new node in front of another one, which it does the work of.
void take_place(Node* made, Node* node) {
  made->set_stage(node->stage())->insert_before(node);
  made->set_source_range(node->source_range());
  made->output()->copy_metadata(node->output());
  node->output()->replace_all_uses_with(made->output());
}

// ---- ints

// A known number that is added to an int, or that it is multiplied by.
struct IntStep {
  Value* of;
  std::int64_t number;
  bool is_product;
};

std::optional<IntStep> find_step(const Node* node) {
  if (node->inputs().size() != 2 || node->outputs().size() != 1) return std::nullopt;
  Value* const left = node->input(0);
  Value* const right = node->input(1);
  if (left->type()->kind() != TypeKind::Int || right->type()->kind() != TypeKind::Int) {
    return std::nullopt;
  }
  const bool is_product = is_call_of(node, "aten::mul");
  const bool is_difference = is_call_of(node, "aten::sub");
  if (!is_product && !is_difference && !is_call_of(node, "aten::add")) return std::nullopt;
  if (const auto number = find_known_int(right)) {
    return IntStep{left, is_difference ? minus(std::int64_t{0}, *number) : *number, is_product};
  }
  const auto number = is_difference ? std::nullopt : find_known_int(left);
  return number ? std::optional(IntStep{right, *number, is_product}) : std::nullopt;
}

// ---- containers

struct Part {
  std::int64_t start, end, step;
};

// As Python has it. Nothing if it is not known.
std::optional<Part> find_part(const Node* node, std::int64_t count) {
  const auto bound = [&](std::size_t i, std::int64_t otherwise) -> std::optional<std::int64_t> {
    if (i >= node->inputs().size()) return otherwise;
    const std::optional<opyard::Value> known = known_value(node->input(i));
    if (!known || (!known->is_none() && !known->is_int())) return std::nullopt;
    if (known->is_none()) return otherwise;
    const std::int64_t given = known->to_int();
    return std::clamp(given < 0 ? given + count : given, std::int64_t{0}, count);
  };
  const std::optional<std::int64_t> start = bound(1, 0), end = bound(2, count);
  const std::optional<std::int64_t> step =
      node->inputs().size() > 3 ? find_known_int(node->input(3)) : std::optional<std::int64_t>(1);
  if (!start || !end || !step || *step < 1) return std::nullopt;
  return Part{*start, *end, *step};
}

bool take_part(Node* node, const Node* made) {
  const std::optional<Part> part = find_part(node, std::int64_t(made->inputs().size()));
  if (!part || !node->output()->has_uses()) return false;
  std::vector<Value*> items;
  for (std::int64_t at = part->start; at < part->end; at += part->step) {
    items.push_back(made->inputs()[std::size_t(at)]);
  }
  take_place(node->graph().create(prim::ListConstruct, items), node);
  return true;
}

// Keys and values in turn, if all keys are known and no two are the same.
const Node* find_dict(const Value* dict, const Aliases& aliases) {
  const Node* const made = dict->node();
  if (made->kind() != prim::DictConstruct || made->inputs().size() % 2 != 0) return nullptr;
  if (aliases.is_written(dict) || aliases.escapes_itself(dict)) return nullptr;
  std::vector<opyard::Value> keys;
  for (std::size_t i = 0; i < made->inputs().size(); i += 2) {
    std::optional<opyard::Value> key = known_value(made->inputs()[i]);
    const bool is_plain = key && (key->is_int() || key->is_bool() || key->kind() == Kind::String);
    if (!is_plain || std::ranges::find(keys, *key) != keys.end()) return nullptr;
    keys.push_back(*std::move(key));
  }
  return made;
}

}  // namespace

bool is_call_of(const Node* node, std::string_view name) {
  return node->kind().qual_string() == name && operation_of(*node) == nullptr;
}

std::optional<std::int64_t> find_known_int(const Value* value) {
  if (value->type()->kind() != TypeKind::Int) return std::nullopt;
  const std::optional<opyard::Value> known = known_value(value);
  return known && known->is_int() ? std::optional(known->to_int()) : std::nullopt;
}

void replace_by_constant(Node* node, const opyard::Value& value) {
  if (!node->output()->has_uses()) return;
  Node* const made = node->graph().create_constant(value, node->output()->type());
  made->set_stage(node->stage())->insert_before(node);
  node->output()->replace_all_uses_with(made->output());
}

const Node* find_list(const Value* list, const Aliases& aliases) {
  const Node* const made = list->node();
  if (made->kind() != prim::ListConstruct) return nullptr;
  return aliases.is_written(list) || aliases.escapes_itself(list) ? nullptr : made;
}

bool shorten_int_chain(Node* node, const Aliases&) {
  if (!node->output()->has_uses()) return false;
  const std::optional<IntStep> last = find_step(node);
  if (!last) return false;
  const std::optional<IntStep> first = find_step(last->of->node());
  if (!first || first->is_product != last->is_product) return false;
  Graph& graph = node->graph();
  const std::int64_t number =
      last->is_product ? times(first->number, last->number) : plus(first->number, last->number);
  Node* const constant = graph.create_constant(opyard::Value(number), base_type(TypeKind::Int));
  constant->set_stage(node->stage())->insert_before(node);
  const Symbol kind = Symbol::from_qual_string(last->is_product ? "aten::mul" : "aten::add");
  take_place(graph.create(kind, {first->of, constant->output()}), node);
  return true;
}

bool take_from_list(Node* node, const Aliases& aliases) {
  const bool is_length = is_call_of(node, "aten::len") && node->inputs().size() == 1;
  const bool is_item = is_call_of(node, "aten::__getitem__") && node->inputs().size() == 2;
  const bool is_part = is_call_of(node, "aten::slice");
  if (!is_length && !is_item && !is_part) return false;
  const Node* const made = find_list(node->input(0), aliases);
  if (made == nullptr) return false;
  if (is_part) return take_part(node, made);
  const auto count = std::int64_t(made->inputs().size());
  if (is_length) {
    replace_by_constant(node, count);
    return true;
  }
  const std::optional<std::int64_t> index = find_known_int(node->input(1));
  const std::int64_t at = !index ? -1 : *index < 0 ? *index + count : *index;
  return at >= 0 && at < count && replace_value(node->output(), made->inputs()[std::size_t(at)]);
}

bool take_from_dict(Node* node, const Aliases& aliases) {
  const bool is_length = is_call_of(node, "aten::len") && node->inputs().size() == 1;
  const bool is_item = is_call_of(node, "aten::__getitem__") && node->inputs().size() == 2;
  const bool is_question = is_call_of(node, "aten::__contains__") && node->inputs().size() == 2;
  if (!is_length && !is_item && !is_question) return false;
  const Node* const made = find_dict(node->input(0), aliases);
  if (made == nullptr) return false;
  if (is_length) {
    replace_by_constant(node, std::int64_t(made->inputs().size() / 2));
    return true;
  }
  const std::optional<opyard::Value> key = known_value(node->input(1));
  if (!key) return false;
  for (std::size_t i = 0; i < made->inputs().size(); i += 2) {
    if (!(*known_value(made->inputs()[i]) == *key)) continue;
    if (is_item) return replace_value(node->output(), made->inputs()[i + 1]);
    replace_by_constant(node, true);
    return true;
  }
  if (is_question) replace_by_constant(node, false);
  return is_question;
}

bool ask_for_rank(Node* node, const Aliases& aliases) {
  if (!is_call_of(node, "aten::len") || node->inputs().size() != 1) return false;
  const Node* const sizes = node->input()->node();
  if (!is_call_of(sizes, "aten::size") || sizes->inputs().size() != 1) return false;
  if (!node->output()->has_uses() || aliases.is_written(node->input()) ||
      aliases.is_written(sizes->input())) {
    return false;
  }
  take_place(node->graph().create(Symbol::from_qual_string("aten::dim"), {sizes->input()}), node);
  return true;
}

}  // namespace opyard::jit::detail
