// passes/fusible.cpp: finding the block function of a call.
#include "passes/fusible.h"

#include <algorithm>
#include <cmath>

#include "ir/node_rules.h"
#include "opyard/inspect/inspect.h"
#include "opyard/registry/registry.h"
#include "passes/callee.h"

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

const BlockFunction* find_function(const BlockFunctions& given, const OperatorName& name) {
  const std::size_t count = given.count.load(std::memory_order_acquire);
  const auto* const end = given.functions + count;
  const auto* const found = std::find_if(given.functions, end, [&](const BlockFunction& one) {
    return name.name == one.name && name.overload == one.overload;
  });
  return found == end ? nullptr : found;
}

bool is_one(const Value* value) {
  const std::optional<FusibleNumber> number = find_fusible_number(value);
  return number && number->is_int && number->value == 1;
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

bool has_operands(const Node& node, const BlockFunction& function) {
  bool has_tensor = false;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* const input = node.inputs()[i];
    const bool is_tensor = input->type()->kind() == TypeKind::Tensor;
    if (i >= function.operands) {
      if (!is_one(input)) return false;
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
  const BlockFunction* const function = find_function(*given, callee->op->name());
  if (function == nullptr || function->operands > BlockFunction::kMostOperands ||
      node.inputs().size() < function->operands) {
    return std::nullopt;
  }
  FusibleCall call{callee->op, function, given, std::nullopt};
  if (function->kind == BlockKind::Converted) {
    call.converted = converted_to(node);
    if (!call.converted) return std::nullopt;
  } else if (!has_operands(node, *function)) {
    return std::nullopt;
  }
  return call;
}

bool is_fused(const Node& node) {
  const Graph* const graph = find_subgraph(node);
  if (graph == nullptr) return false;
  for (const Node* const inner : graph->nodes()) {
    if (inner->kind() != prim::Constant && !find_fusible_call(*inner)) return false;
  }
  return std::all_of(graph->outputs().begin(), graph->outputs().end(), [](const Value* output) {
    return output->node()->kind() != prim::Param && output->node()->kind() != prim::Constant;
  });
}

}  // namespace opyard::jit::detail
