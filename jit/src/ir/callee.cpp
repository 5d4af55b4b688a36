// ir/callee.cpp: queries of nodes, values and types for passes.
#include "ir/callee.h"

#include <algorithm>

#include "opyard/detail/jit/load_operator.h"
#include "opyard/inspect/inspect.h"
#include "opyard/jit/constant.h"
#include "opyard/schema/relations.h"

namespace opyard::jit::detail {

std::optional<Callee> find_callee(const Node& node) {
  if (node.kind().name_space() == "prim" && !is_known_operator(node.kind().qual_string())) {
    return std::nullopt;
  }
  load_operator(node);
  std::vector<TypePtr> types;
  for (const Value* const input : node.inputs()) types.push_back(input->type());
  std::optional<Choice> choice =
      find_call(node.kind().qual_string(), node.overload().defined() ? node.overload().name() : "",
                {types, {}});
  if (!choice) return std::nullopt;
  const Callee callee = choice->callee;
  if (callee.schema().results.size() != node.outputs().size()) return std::nullopt;
  return callee;
}

bool is_random(const Callee& callee) {
  if (callee.op == nullptr) return false;
  const auto takes_generator = [](const Argument& argument) {
    const Type& type = *argument.type;
    return type.kind() == TypeKind::Generator ||
           (type.kind() == TypeKind::Optional && type.element().kind() == TypeKind::Generator);
  };
  const std::vector<Argument>& arguments = callee.schema().arguments;
  if (std::any_of(arguments.begin(), arguments.end(), takes_generator)) return true;
  const std::vector<std::string> tags = inspect::tags(callee.op->name());
  return std::any_of(tags.begin(), tags.end(),
                     [](const std::string& tag) { return tag.starts_with("nondeterministic"); });
}

bool has_memory(const Type& type) {
  switch (type.kind()) {
    case TypeKind::Int:
    case TypeKind::Float:
    case TypeKind::Bool:
    case TypeKind::Complex:
    case TypeKind::Str:
    case TypeKind::Scalar:
    case TypeKind::SymInt:
    case TypeKind::SymFloat:
    case TypeKind::SymBool:
    case TypeKind::Device:
    case TypeKind::DeviceIndex:
    case TypeKind::ScalarType:
    case TypeKind::Layout:
    case TypeKind::MemoryFormat:
    case TypeKind::QScheme:
    case TypeKind::Dimname:
    case TypeKind::None:
      return false;
    case TypeKind::Optional:
      return has_memory(type.element());
    case TypeKind::Tuple:
      return std::any_of(type.elements().begin(), type.elements().end(),
                         [](const TypePtr& element) { return has_memory(*element); });
    default:
      return true;
  }
}

std::optional<opyard::Value> known_value(const Value* value) {
  const Node* const node = value->node();
  if (node->kind() != prim::Constant || has_memory(*value->type())) return std::nullopt;
  return constant_value(*node);
}

bool have_types_of(std::span<Value* const> values, std::span<Value* const> others) {
  return std::equal(values.begin(), values.end(), others.begin(), others.end(),
                    [](const Value* a, const Value* b) { return equal(*a->type(), *b->type()); });
}

}  // namespace opyard::jit::detail
