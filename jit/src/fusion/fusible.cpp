// fusion/fusible.cpp: finding the block function of a call.
#include "fusion/fusible.h"

#include <algorithm>
#include <cmath>

#include "ir/callee.h"
#include "ir/node_rules.h"
#include "opyard/inspect/inspect.h"
#include "opyard/jit/constant.h"
#include "opyard/registry/registry.h"

namespace opyard::jit::detail {
namespace {

// Ints up to here are exact in float32.
constexpr std::int64_t kLargestInt = std::int64_t{1} << 24;

// See jit/block_functions.h [Offering]. Asked each time: the library may come and go.
const BlockFunctions* offered() {
  const Operator* const op = Registry::instance().find({kBlockFunctionsOperator, ""});
  if (op == nullptr) return nullptr;
  // Code that gives any number, such as a function of Python, gives no address.
  if (inspect::resolve(*op, DispatchKey::Undefined).record->typed == nullptr) return nullptr;
  Stack stack;
  op->call_boxed(stack);
  const auto* const given = reinterpret_cast<const BlockFunctions*>(stack.pop().to_int());
  return given != nullptr && given->bytes == kBlockFunctionsBytes ? given : nullptr;
}

template <typename Offer>
const Offer* find_offer(const Offer* all, std::size_t count, const OperatorName& name) {
  const auto* const found = std::find_if(all, all + count, [&](const Offer& one) {
    return name.name == one.name && name.overload == one.overload;
  });
  return found == all + count ? nullptr : found;
}

bool is_default(const Schema& schema, std::size_t argument, const Value* value) {
  const std::optional<opyard::Value>& wanted = schema.arguments[argument].default_value;
  const std::optional<opyard::Value> known = known_value(value);
  return wanted && known && *known == *wanted;
}

// What a conversion asks for besides a dtype is not in blocks.
bool is_left_out(const Value* value) {
  const std::optional<opyard::Value> known = known_value(value);
  return known && (known->is_none() || (known->is_bool() && !known->to_bool()));
}

std::optional<DType> converted_to(const Node& node) {
  const auto inputs = node.inputs();
  if (inputs.size() < 2 || inputs[0]->type()->kind() != TypeKind::Tensor) return std::nullopt;
  const std::optional<opyard::Value> dtype = known_value(inputs[1]);
  if (!dtype || !dtype->is_int() || BlockFunction::index_of(DType(dtype->to_int())) < 0) {
    return std::nullopt;
  }
  const bool plain = std::all_of(inputs.begin() + 2, inputs.end(), is_left_out);
  return plain ? std::optional<DType>(DType(dtype->to_int())) : std::nullopt;
}

bool has_operands(const Node& node, const Schema& schema, const BlockFunction& function) {
  bool has_tensor = false;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* const input = node.inputs()[i];
    const bool is_tensor = input->type()->kind() == TypeKind::Tensor;
    if (i >= function.operands) {
      if (!is_default(schema, i, input)) return false;
    } else if (function.kind == BlockKind::Selected && i == function.order[0]) {
      if (!is_tensor) return false;
    } else if (is_tensor) {
      has_tensor = true;
    } else if (!find_fusible_number(input)) {
      return false;
    }
  }
  return has_tensor;
}

// A list is not what it was if a function that is no operator may write into it.
bool may_be_written(const Value* list) {
  const auto uses = list->uses();
  return std::any_of(uses.begin(), uses.end(), [](const Use& use) {
    if (use.user->kind() == prim::FusionGroup) return false;
    const std::optional<Callee> callee = find_callee(*use.user);
    return !callee || callee->op == nullptr;
  });
}

// What a constant holds that is no tensor: a number, None, or a list of ints.
std::optional<opyard::Value> known_argument(const Value* value) {
  if (std::optional<opyard::Value> known = known_value(value)) return known;
  if (value->node()->kind() != prim::Constant) return std::nullopt;
  opyard::Value list = constant_value(*value->node());
  if (!list.is_list() || may_be_written(value)) return std::nullopt;
  const auto& items = list.items_unchecked();
  const bool are_ints = std::all_of(items.begin(), items.end(),
                                    [](const opyard::Value& item) { return item.is_int(); });
  return are_ints ? std::optional(std::move(list)) : std::nullopt;
}

bool is_tensor_value(const Value* value) { return value->type()->kind() == TypeKind::Tensor; }

bool take_tensors(const Node& node, FusibleTail& found) {
  if (found.tail->kind != TailKind::Joined) {
    found.tensors = {node.input(0)};
    return is_tensor_value(node.input(0));
  }
  const Node* const list = list_of_tail(node);
  if (list == nullptr || list->output()->uses().size() != 1) return false;
  found.tensors.assign(list->inputs().begin(), list->inputs().end());
  return !found.tensors.empty() &&
         std::all_of(found.tensors.begin(), found.tensors.end(), is_tensor_value);
}

bool take_arguments(FusibleTail& found) {
  auto rest = found.arguments.cbegin();
  const auto has_more = [&] { return rest != found.arguments.cend(); };
  if (found.tail->kind == TailKind::Joined) {
    if (!has_more() || !rest->is_int()) return false;
    found.dim = (rest++)->to_int();
  } else if (found.tail->kind == TailKind::Reduced) {
    if (has_more() && rest->is_list()) {
      found.dims.emplace();
      for (const opyard::Value& dim : rest->items_unchecked()) found.dims->push_back(dim.to_int());
      ++rest;
    } else if (has_more() && rest->is_none()) {
      ++rest;
    } else {
      return false;
    }
    if (!has_more() || !rest->is_bool()) return false;
    found.keepdim = (rest++)->to_bool();
  }
  return std::all_of(rest, found.arguments.cend(),
                     [](const opyard::Value& value) { return value.is_none(); });
}

}  // namespace

std::optional<FusibleNumber> find_fusible_number(const Value* value) {
  const std::optional<opyard::Value> known = known_value(value);
  if (!known) return std::nullopt;
  if (known->is_int()) {
    const std::int64_t number = known->to_int();
    if (number < -kLargestInt || number > kLargestInt) return std::nullopt;
    return FusibleNumber{double(number), true};
  }
  if (!known->is_double() || !std::isfinite(float(known->to_double()))) return std::nullopt;
  return FusibleNumber{known->to_double(), false};
}

std::optional<FusibleCall> find_fusible_call(const Node& node) {
  if (node.kind().name_space() == "prim" || node.outputs().size() != 1 || !node.blocks().empty()) {
    return std::nullopt;
  }
  const std::optional<Callee> callee = find_callee(node);
  if (!callee || callee->op == nullptr) return std::nullopt;
  const BlockFunctions* const given = offered();
  if (given == nullptr) return std::nullopt;
  const BlockFunction* const function = find_offer(
      given->functions, given->count.load(std::memory_order_acquire), callee->op->name());
  if (function == nullptr || function->operands > BlockFunction::kMostOperands ||
      node.inputs().size() < function->operands) {
    return std::nullopt;
  }
  FusibleCall call{callee->op, function, given, std::nullopt};
  if (function->kind == BlockKind::Converted) {
    call.converted = converted_to(node);
    if (!call.converted) return std::nullopt;
  } else if (!has_operands(node, callee->schema(), *function)) {
    return std::nullopt;
  }
  return call;
}

std::optional<FusibleTail> find_fusible_tail(const Node& node) {
  if (node.kind().name_space() == "prim" || node.outputs().size() != 1) return std::nullopt;
  const std::optional<Callee> callee = find_callee(node);
  if (!callee || callee->op == nullptr || node.inputs().empty()) return std::nullopt;
  const BlockFunctions* const given = offered();
  if (given == nullptr) return std::nullopt;
  FusibleTail found{callee->op, nullptr, {}, {}, std::nullopt};
  found.tail = find_offer(given->tails, given->tail_count.load(std::memory_order_acquire),
                          callee->op->name());
  if (found.tail == nullptr || !take_tensors(node, found)) return std::nullopt;
  for (const Value* const input : node.inputs().subspan(1)) {
    std::optional<opyard::Value> known = known_argument(input);
    if (!known) return std::nullopt;
    found.arguments.push_back(std::move(*known));
  }
  return take_arguments(found) ? std::optional(std::move(found)) : std::nullopt;
}

Node* list_of_tail(const Node& node) {
  if (node.inputs().empty()) return nullptr;
  Node* const list = node.input(0)->node();
  return list->kind() == prim::ListConstruct ? list : nullptr;
}

const Node* find_tail_of_list(const Node& node) {
  if (node.kind() != prim::ListConstruct || node.output()->uses().size() != 1) return nullptr;
  const Node* const user = node.output()->uses()[0].user;
  const Node* next = node.next();
  while (next != nullptr && next->kind() == prim::Constant) next = next->next();
  return next == user && find_fusible_tail(*user) ? user : nullptr;
}

bool is_fused(const Node& node) {
  const Graph* const graph = find_subgraph(node);
  if (graph == nullptr) return false;
  bool ended = false;
  for (const Node* const inner : graph->nodes()) {
    if (inner->kind() == prim::Constant || find_tail_of_list(*inner) != nullptr) continue;
    if (ended) return false;
    if (find_fusible_call(*inner)) continue;
    if (!find_fusible_tail(*inner)) return false;
    ended = true;
  }
  return std::all_of(graph->outputs().begin(), graph->outputs().end(), [](const Value* output) {
    const Symbol kind = output->node()->kind();
    return kind != prim::Param && kind != prim::Constant && kind != prim::ListConstruct;
  });
}

}  // namespace opyard::jit::detail
