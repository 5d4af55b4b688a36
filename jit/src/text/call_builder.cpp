// text/call_builder.cpp: calls of an expression as nodes.
#include "text/call_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/written_call.h"
#include "opyard/jit/constant.h"

namespace opyard::jit::detail {
namespace {

bool is_literal(const Value* value) { return value->node()->kind() == prim::Constant; }
bool is_int_literal(const Value* value) {
  return is_literal(value) && value->type()->kind() == TypeKind::Int;
}
bool is_tensor_operand(const Value* value) { return value->type()->kind() == TypeKind::Tensor; }
bool is_number_value(const Value* value) {
  switch (value->type()->kind()) {
    case TypeKind::Int:
    case TypeKind::Float:
    case TypeKind::Bool:
    case TypeKind::Complex:
    case TypeKind::Scalar:
      return true;
    default:
      return false;
  }
}

// What a comparison becomes with its operands the other way round.
std::string mirrored(const std::string& name) {
  if (name == "lt") return "gt";
  if (name == "gt") return "lt";
  if (name == "le") return "ge";
  if (name == "ge") return "le";
  return name;
}

}  // namespace

std::string CallBuilder::qualified(const std::string& name) const {
  if (name.find("::") != std::string::npos) return name;
  const std::string common = "aten::" + name;
  for (const std::string& one :
       {name_space_ + "::" + name, common, "opyard::" + name, "prim::" + name}) {
    if (is_known_operator(one)) return one;
  }
  return common;
}

namespace {

bool is_empty_list(const Value* value) {
  return is_literal(value) && value->type()->kind() == TypeKind::List &&
         value->type()->element().kind() == TypeKind::Any;
}

struct OperandTypes {
  std::vector<TypePtr> positional;
  std::vector<std::pair<std::string, TypePtr>> by_name;
  GivenTypes given() const { return {positional, by_name}; }
};

OperandTypes types_of(const std::vector<Value*>& given, std::size_t positional_count,
                      const NamedValues& by_name, bool lists, bool floats) {
  OperandTypes types;
  for (std::size_t i = 0; i < given.size(); ++i) {
    TypePtr type = given[i]->type();
    if (lists && is_empty_list(given[i])) type = list_of(base_type(TypeKind::Int));
    if (floats && is_int_literal(given[i])) type = base_type(TypeKind::Float);
    if (i < positional_count) {
      types.positional.push_back(std::move(type));
    } else {
      types.by_name.emplace_back(by_name[i - positional_count].first, std::move(type));
    }
  }
  return types;
}

std::optional<Choice> find_call_as(const std::string& name, const std::vector<Value*>& given,
                                   std::size_t positional_count, const NamedValues& by_name,
                                   bool lists, bool floats) {
  const OperandTypes types = types_of(given, positional_count, by_name, lists, floats);
  return find_written_call(name, types.given());
}

[[noreturn]] OPYARD_COLD void refuse_call(const std::string& name, const std::vector<Value*>& given,
                                          std::size_t positional_count,
                                          const NamedValues& by_name) {
  const OperandTypes types = types_of(given, positional_count, by_name, false, false);
  choose_written_call(name, types.given());
  fail(ErrorKind::Internal, "a call was refused and found");
}

}  // namespace

void CallBuilder::convert_literals(std::vector<Value*>& given, bool lists, bool floats) {
  for (Value*& value : given) {
    if (lists && is_empty_list(value)) {
      value = graph_.insert_constant(opyard::Value::list({}), list_of(base_type(TypeKind::Int)));
    } else if (floats && is_int_literal(value)) {
      value = literal(opyard::Value(double(constant_value(*value->node()).to_int())));
    }
  }
}

Node* CallBuilder::call(const std::string& name, std::vector<Value*> positional,
                        const NamedValues& by_name) {
  const std::string full = qualified(name);
  std::vector<Value*> given = std::move(positional);
  const std::size_t positional_count = given.size();
  for (const auto& [keyword, value] : by_name) given.push_back(value);

  // As written, then with empty lists as lists of ints, then with int literals as floats.
  std::optional<Choice> choice;
  for (int attempt = 0; attempt < 4 && !choice; ++attempt) {
    choice = find_call_as(full, given, positional_count, by_name, (attempt & 1) != 0,
                          (attempt & 2) != 0);
    if (choice) convert_literals(given, (attempt & 1) != 0, (attempt & 2) != 0);
  }
  if (!choice) refuse_call(full, given, positional_count, by_name);

  const Schema& schema = choice->callee.schema();
  Node* const node =
      graph_.create(Symbol::from_qual_string(full), std::initializer_list<Value*>{}, 0);
  if (!schema.name.overload.empty()) node->set_overload(Symbol::attr(schema.name.overload));
  // Defaults behind the last given argument stay away.
  std::size_t count = schema.arguments.size();
  while (count > 0 && choice->given[count - 1] < 0) --count;
  std::vector<TypePtr> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    const int at = choice->given[i];
    Value* const value = at >= 0 ? given[std::size_t(at)]
                                 : graph_.insert_constant(*schema.arguments[i].default_value,
                                                          runtime_type(*schema.arguments[i].type));
    node->add_input(value);
    inputs.push_back(value->type());
  }
  for (TypePtr& type : result_types(schema, inputs)) node->add_output(std::move(type));
  return graph_.insert_node(node);
}

Node* CallBuilder::binary(const std::string& name, Value* left, Value* right) {
  const auto symbol = [&](const std::string& of, std::vector<Value*> operands) {
    return call("aten::" + of, std::move(operands), {});
  };
  const bool with_none =
      left->type()->kind() == TypeKind::None || right->type()->kind() == TypeKind::None;
  if (with_none && name == "eq") return symbol("__is__", {left, right});
  if (with_none && name == "ne") return symbol("__isnot__", {left, right});
  if (!is_number_value(left) || !is_tensor_operand(right) || name == "pow") {
    const bool numbers = is_number_value(left) && is_number_value(right);
    return symbol(numbers && name == "floor_divide" ? "floordiv" : name, {left, right});
  }
  if (name == "sub") return symbol("rsub", {right, left});
  if (name == "div") return symbol("mul", {symbol("reciprocal", {right})->output(), left});
  if (name == "add" || name == "mul" || name == "eq" || name == "ne" || mirrored(name) != name) {
    return symbol(mirrored(name), {right, left});
  }
  return symbol(name, {left, right});
}

Value* CallBuilder::literal(const opyard::Value& value) { return graph_.insert_constant(value); }

Value* CallBuilder::literal_like(Value* value, const Type& wanted) {
  if (is_int_literal(value) && wanted.kind() == TypeKind::Float) {
    return literal(opyard::Value(double(constant_value(*value->node()).to_int())));
  }
  if (is_empty_list(value) && wanted.kind() == TypeKind::List) {
    return graph_.insert_constant(opyard::Value::list({}), list_of(wanted.elements()[0]));
  }
  return value;
}

Value* CallBuilder::negated_literal(Value* value) {
  if (!is_literal(value) || value->has_uses()) return nullptr;
  const opyard::Value number = constant_value(*value->node());
  if (number.is_int()) {
    return literal(opyard::Value(std::int64_t(-std::uint64_t(number.to_int()))));
  }
  if (number.is_double()) return literal(opyard::Value(-number.to_double()));
  if (number.kind() == Kind::Complex) return literal(opyard::Value(-number.to_complex()));
  return nullptr;
}

Value* CallBuilder::list(const std::vector<Value*>& items) {
  if (std::all_of(items.begin(), items.end(), is_literal)) {
    std::vector<opyard::Value> values;
    for (const Value* const item : items) values.push_back(constant_value(*item->node()));
    const opyard::Value made = opyard::Value::list(std::move(values));
    const TypePtr type = type_of_constant(made);
    if (type->element().kind() != TypeKind::Any || items.empty()) {
      return graph_.insert_constant(made, type);
    }
  }
  TypePtr element = items.empty() ? base_type(TypeKind::Any) : items.front()->type();
  for (const Value* const item : items) {
    if (element != nullptr) element = unify(element, item->type());
  }
  OPYARD_CHECK(element != nullptr, BadGraph, "the items of a list are of one type");
  if (element->kind() == TypeKind::Tensor) element = base_type(TypeKind::Tensor);
  Node* const node = graph_.create(prim::ListConstruct, items);
  node->output()->set_type(list_of(std::move(element)));
  return graph_.insert_node(node)->output();
}

}  // namespace opyard::jit::detail
