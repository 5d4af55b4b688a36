// prepared/preparing.cpp: queries and changes that preparations share.
#include "prepared/preparing.h"

#include <algorithm>

#include "opyard/jit/constant.h"

namespace opyard::jit::prepared {

const Tensor* find_tensor(const Value* value) {
  const Node& node = *value->node();
  if (node.kind() != prim::Constant || !node.has_attribute(attr::value)) return nullptr;
  if (node.kind_of(attr::value) != AttributeKind::t) return nullptr;
  return &node.t(attr::value);
}

std::optional<opyard::Value> find_known(const Value* value) {
  const Node& node = *value->node();
  if (node.kind() != prim::Constant || find_tensor(value) != nullptr) return std::nullopt;
  return constant_value(node);
}

std::optional<double> find_number(const Value* value) {
  const std::optional<opyard::Value> known = find_known(value);
  if (!known) return std::nullopt;
  if (known->is_int()) return double(known->to_int());
  if (known->is_double()) return known->to_double();
  return std::nullopt;
}

bool is_none(const Value* value) {
  const std::optional<opyard::Value> known = find_known(value);
  return known && known->is_none();
}

bool is_false(const Value* value) {
  const std::optional<opyard::Value> known = find_known(value);
  return known && known->is_bool() && !known->to_bool();
}

bool is_one_of(const Node& node, std::initializer_list<std::string_view> kinds) {
  return std::ranges::count(kinds, node.kind().qual_string()) != 0;
}

bool is_convolution(const Node& node) {
  if (is_one_of(node, {"aten::convolution"})) {
    return node.inputs().size() == 9 && is_false(node.input(6));
  }
  return is_one_of(node, {"aten::conv1d", "aten::conv2d", "aten::conv3d"}) &&
         node.inputs().size() >= 2;
}

Value* insert_call(Node& node, std::string_view kind, std::initializer_list<Value*> inputs,
                   std::string_view overload) {
  Node* const made = node.graph().create(Symbol::from_qual_string(kind), inputs);
  if (!overload.empty()) made->set_overload(Symbol::attr(overload));
  made->set_source_range(node.source_range());
  made->insert_before(&node);
  return made->output();
}

Value* insert_constant(Node& node, const opyard::Value& value, TypePtr type) {
  Node* const made = node.graph().create_constant(value, std::move(type));
  made->insert_before(&node);
  return made->output();
}

void replace(Node& node, Value* other) {
  node.outputs()[0]->replace_all_uses_with(other);
  node.destroy();
}

}  // namespace opyard::jit::prepared
