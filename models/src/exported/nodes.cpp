// exported/nodes.cpp: conversion of exported nodes: operators and functions on sizes.
#include "exported/nodes.h"

#include <utility>

#include <fmt/format.h>

#include "exported/names.h"
#include "exported/program.h"
#include "files/own_namespaces.h"
#include "opyard/base/error.h"
#include "opyard/detail/jit/load_operator.h"
#include "opyard/jit/resolve.h"
#include "opyard/registry/registry.h"

namespace opyard::jit {
namespace {

const Schema& find_schema(const OperatorName& name) {
  // A file may name what it likes; others are loaded by who allows them.
  if (is_own_namespace(name.name_space())) detail::load_operator(name.name);
  const Operator* const op = Registry::instance().find(name);
  OPYARD_CHECK(op != nullptr, Unsupported,
               "is not defined here" + detail::where_it_may_be(name.name));
  return op->schema();
}

constexpr const char* kLift = "torch.ops.aten.lift_fresh_copy.default";
constexpr const char* kDetachInPlace = "torch.ops.aten.detach_.default";

// See [Constants].
OperatorName require_operator(const std::string& target) {
  if (target == kLift) return {"aten::clone", ""};
  if (target == kDetachInPlace) return {"aten::detach", ""};
  const std::optional<OperatorName> name = operator_name(target);
  OPYARD_CHECK(name.has_value(), Unsupported, "is no operator, and no function on sizes");
  return *name;
}

// Of an empty list the type cannot be seen.
TypePtr runtime_list(const Type& type) {
  TypePtr wanted = runtime_type(type);
  return wanted->kind() == TypeKind::List ? wanted : TypePtr();
}

bool is_assertion(const std::string& target) {
  return target == "torch.ops.aten._assert_tensor_metadata.default" ||
         target == "torch.ops.aten._assert_scalar.default" ||
         target.starts_with("torch.ops.aten.sym_constrain_range");
}

bool is_number_kind(const std::string& kind) {
  return kind == "as_int" || kind == "as_float" || kind == "as_bool" || kind == "as_sym_int" ||
         kind == "as_sym_float";
}

}  // namespace

void NodeConverter::convert_nodes(const Json& graph, ExportedValues& values) {
  const Json* const outer = std::exchange(tensors_, find_member(graph, "tensor_values"));
  for (const Json& node : require_array(member(graph, "nodes"), what_)) convert_node(node, values);
  tensors_ = outer;
}

void NodeConverter::convert_node(const Json& node, ExportedValues& values) {
  const std::string& target = text(node, "target");
  const SourceRange place = source_range_of(node);
  try {
    if (refusals_.has_refused_input(node)) {
      refusals_.refuse_outputs(node);
      look_up(node);
    } else {
      convert_known(target, node, place, values);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Unsupported && error.kind() != ErrorKind::BadGraph) throw;
    const std::string reason = error.what();
    refusals_.add(target, place, reason.substr(0, reason.find('\n')));
    refusals_.refuse_outputs(node);
  }
}

// Of a node that is cut off: the list of what cannot run asks whether its operators are there.
void NodeConverter::look_up(const Json& node) {
  const std::string& target = text(node, "target");
  if (is_assertion(target) || find_size_function(target) != nullptr) return;
  for (const Json& input : require_array(member(node, "inputs"), what_)) {
    const Json& argument = member(input, "arg");
    if (find_member(argument, "as_graph") != nullptr) look_up_inside(argument);
  }
  if (is_control_flow(target)) return;
  try {
    find_schema(require_operator(target));
  } catch (const Error& error) {
    refusals_.add(target, source_range_of(node), error.what());
  }
}

void NodeConverter::look_up_inside(const Json& argument) {
  const Json& graph = member(member(argument, "as_graph"), "graph");
  for (const Json& node : require_array(member(graph, "nodes"), what_)) look_up(node);
}

void NodeConverter::convert_known(const std::string& target, const Json& node,
                                  const SourceRange& place, ExportedValues& values) {
  if (is_assertion(target)) {
    convert_assertion(target, node, values);
  } else if (const char* const builtin = find_size_function(target)) {
    convert_size_function(builtin, node, place, values);
  } else if (!convert_control_flow(target, node, place, values)) {
    if (target == kDetachInPlace) require_constant(node, values);
    const Value* const given = convert_call(require_operator(target), node, place, values);
    if (target == kLift) lifted_.insert(given);
  }
}

// See [Constants].
void NodeConverter::require_constant(const Json& node, ExportedValues& values) {
  const Json& inputs = require_array(member(node, "inputs"), what_);
  const bool is_constant =
      !inputs.empty() &&
      lifted_.contains(values.argument(member(inputs[0], "arg"), *base_type(TypeKind::Tensor)));
  OPYARD_CHECK(is_constant, Unsupported, "detaches in place what is no constant of forward()");
}

// See [Numbers].
OperatorName NodeConverter::overload_for_numbers(OperatorName name, const Json& node) const {
  if (name.overload != "Tensor" && name.overload != "Tensor_mode") return name;
  const Schema& schema = find_schema(name);
  for (const Json& input : require_array(member(node, "inputs"), what_)) {
    const auto at = schema.find_argument(text(input, "name"));
    if (at && *at > 0 && is_number_for_tensor(member(input, "arg"), *schema.arguments[*at].type)) {
      name.overload = name.overload == "Tensor" ? "Scalar" : "Scalar_mode";
      break;
    }
  }
  return name;
}

bool NodeConverter::is_number_for_tensor(const Json& argument, const Type& wanted) const {
  return wanted.kind() == TypeKind::Tensor && is_number_kind(kind_and_value(argument, what_).first);
}

// See [Numbers].
Value* NodeConverter::tensor_of_number(const Json& argument, const Json& node,
                                       ExportedValues& values) {
  Value* const number = values.argument(argument, *base_type(TypeKind::Any));
  opyard::Value dtype;
  if (number->type()->kind() == TypeKind::Float) {
    const std::optional<DType> given = dtype_of_result(node);
    dtype = std::int64_t(given && is_floating_point(*given) ? *given : DType::Float32);
  }
  return insert("aten::tensor",
                {number, graph_.insert_constant(dtype), graph_.insert_constant(opyard::Value()),
                 graph_.insert_constant(opyard::Value(false))});
}

// Of the first one, as the program says.
std::optional<DType> NodeConverter::dtype_of_result(const Json& node) const {
  const Json& outputs = require_array(member(node, "outputs"), what_);
  if (outputs.empty() || tensors_ == nullptr) return std::nullopt;
  const Json* const tensor = find_member(outputs[0], "as_tensor");
  if (tensor == nullptr) return std::nullopt;
  const Json* const known = find_member(*tensors_, text(*tensor, "name").c_str());
  if (known == nullptr) return std::nullopt;
  return require_exported_dtype(member(*known, "dtype"), what_);
}

// In the schema's order, with the defaults of what is not given.
std::vector<Value*> NodeConverter::arguments_of(const Schema& schema, const Json& node,
                                                ExportedValues& values) {
  std::map<std::string, const Json*> given;
  for (const Json& input : require_array(member(node, "inputs"), what_)) {
    const std::string& argument = text(input, "name");
    OPYARD_CHECK(schema.find_argument(argument).has_value(), Unsupported,
                 fmt::format("has no argument \"{}\" here", argument));
    given[argument] = &member(input, "arg");
  }
  std::vector<Value*> inputs;
  for (const Argument& argument : schema.arguments) {
    const auto found = given.find(argument.name);
    if (found != given.end() && is_number_for_tensor(*found->second, *argument.type)) {
      inputs.push_back(tensor_of_number(*found->second, node, values));
    } else if (found != given.end()) {
      inputs.push_back(values.argument(*found->second, *argument.type));
    } else {
      OPYARD_CHECK(
          argument.default_value.has_value(), Unsupported,
          fmt::format("its argument \"{}\" is not given, and has no default here", argument.name));
      inputs.push_back(
          graph_.insert_constant(*argument.default_value, runtime_list(*argument.type)));
    }
  }
  return inputs;
}

// Gives the first result, if there is one.
const Value* NodeConverter::convert_call(const OperatorName& said, const Json& json,
                                         const SourceRange& place, ExportedValues& values) {
  const OperatorName name = overload_for_numbers(said, json);
  const Schema& schema = find_schema(name);
  const std::vector<Value*> inputs = arguments_of(schema, json, values);
  // See [Views].
  const std::string& called =
      name.name == "aten::view" && name.overload.empty() ? "aten::reshape" : name.name;
  Node* const node = graph_.create(Symbol::from_qual_string(called), inputs, schema.results.size());
  if (!name.overload.empty()) node->set_overload(Symbol::attr(name.overload));
  node->set_source_range(place);
  node->set_scope(scope_of(json));
  for (std::size_t i = 0; i < schema.results.size(); ++i) {
    node->output(i)->set_type(runtime_type(*schema.results[i].type));
  }
  graph_.insert_node(node);
  resolve(*node);
  define_outputs(node->outputs(), json, values);
  return node->outputs().empty() ? nullptr : node->output(0);
}

void NodeConverter::convert_size_function(const char* builtin, const Json& json,
                                          const SourceRange& place, ExportedValues& values) {
  std::vector<Value*> inputs;
  for (const Json& input : require_array(member(json, "inputs"), what_)) {
    inputs.push_back(values.argument(member(input, "arg"), *base_type(TypeKind::Any)));
  }
  Node* const node = graph_.create(Symbol::from_qual_string(builtin), inputs, 1);
  node->set_source_range(place);
  node->set_scope(scope_of(json));
  std::vector<TypePtr> types;
  for (const Value* const input : inputs) types.push_back(input->type());
  graph_.insert_node(node);
  node->output()->set_type(result_types(resolve(*node).schema(), types).front());
  define_outputs(node->outputs(), json, values);
}

Value* NodeConverter::insert(const char* function, std::initializer_list<Value*> inputs) {
  Node* const node = graph_.create(Symbol::from_qual_string(function), inputs, 1);
  std::vector<TypePtr> types;
  for (const Value* const input : inputs) types.push_back(input->type());
  graph_.insert_node(node);
  node->output()->set_type(result_types(resolve(*node).schema(), types).front());
  return node->output();
}

// ---- what nodes give

void NodeConverter::define_outputs(std::span<Value* const> given, const Json& json,
                                   ExportedValues& values) {
  const Json& outputs = require_array(member(json, "outputs"), what_);
  OPYARD_CHECK(outputs.size() <= given.size(), Unsupported,
               fmt::format("gives {} results there, and {} here", outputs.size(), given.size()));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto [kind, value] = kind_and_value(outputs[i], what_);
    if (kind == "as_tensors") {
      define_items(given[i], *value, values);
    } else if (kind == "as_tensor") {
      values.define(text(*value, "name"), given[i]);
    } else if (kind == "as_sym_int" || kind == "as_sym_bool" || kind == "as_sym_float") {
      values.define(text(*value, "as_name"), number_of(given[i], kind));
    } else {
      OPYARD_CHECK(kind == "as_none", Unsupported, "gives a result of the kind " + kind);
    }
  }
}

// An operator may give any number, item() does; the program says which kind this one is. A power of
// ints is a float here.
Value* NodeConverter::number_of(Value* given, const std::string& kind) {
  const TypeKind type = given->type()->kind();
  const bool is_power = type == TypeKind::Float && kind == "as_sym_int";
  if (type != TypeKind::Scalar && !is_power) return given;
  OPYARD_CHECK(kind != "as_sym_bool", Unsupported, "gives a number that is a bool");
  return insert(kind == "as_sym_int" ? "aten::Int" : "aten::Float", {given});
}

void NodeConverter::define_items(Value* list, const Json& names, ExportedValues& values) {
  require_array(names, what_);
  Node* const items = graph_.create(prim::ListUnpack, {list}, names.size());
  graph_.insert_node(items);
  for (std::size_t i = 0; i < names.size(); ++i) {
    values.define(text(names[i], "name"), items->output(i));
  }
}

}  // namespace opyard::jit
