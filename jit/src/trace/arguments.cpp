// trace/arguments.cpp: the arguments and results of a call as values of the graph.
//
// Lists and tuples that hold tensors are constructed from their items; a list of tensors as a
// result is unpacked, so that its items are known. Everything else is a constant, of the type that
// the value has.
#include <fmt/format.h>

#include <algorithm>

#include "opyard/jit/constant.h"
#include "opyard/jit/resolve.h"
#include "trace/trace_data.h"

namespace opyard::jit {
namespace {

bool holds_tensor(const opyard::Value& value) {
  if (value.is_tensor()) return true;
  if (value.kind() != Kind::List && value.kind() != Kind::Tuple) {
    return value.kind() == Kind::Dict || value.kind() == Kind::Future;
  }
  const auto& items = value.items_unchecked();
  return std::any_of(items.begin(), items.end(), &holds_tensor);
}

const Type& declared_type(const Type& type) {
  return type.kind() == TypeKind::Optional ? type.element() : type;
}

// What a constant of this value is declared as: its own type, but an empty list does not know it.
TypePtr constant_type(const opyard::Value& value, const Type& declared) {
  if (value.is_none()) return base_type(TypeKind::None);
  const bool is_empty_list = value.kind() == Kind::List && value.items_unchecked().empty();
  return is_empty_list ? runtime_type(declared_type(declared)) : type_of_constant(value);
}

}  // namespace

Value* TraceData::constant(const opyard::Value& value, const Type& type) {
  const TypePtr own = constant_type(value, type);
  Value*& pooled = pool[fmt::format("{} : {}", repr(value), type_text(*own))];
  if (pooled == nullptr) {
    Node* const node = append(graph->create_constant(value, own));
    constants.push_back(node);
    pooled = node->output();
  }
  return pooled;
}

Value* TraceData::container(Symbol kind, const opyard::Value& argument, const Type& type) {
  const bool is_list = kind == prim::ListConstruct;
  const Type& declared = declared_type(type);
  std::vector<Value*> items;
  std::vector<TypePtr> types;
  std::size_t index = 0;
  for (const opyard::Value& item : argument.items_unchecked()) {
    const Type& element =
        declared.elements().empty() ? declared : *declared.elements()[is_list ? 0 : index++];
    items.push_back(value_of(item, element));
    types.push_back(items.back()->type());
  }
  Node* const node = append(graph->create(kind, items));
  node->output()->set_type(is_list ? runtime_type(declared)
                                   : compound_type(TypeKind::Tuple, std::move(types)));
  return node->output();
}

Value* TraceData::value_of(const opyard::Value& argument, const Type& type) {
  if (argument.is_tensor()) return value_of(argument.tensor_unchecked());
  if (!holds_tensor(argument)) return constant(argument, type);
  if (argument.kind() == Kind::List) return container(prim::ListConstruct, argument, type);
  if (argument.kind() == Kind::Tuple) return container(prim::TupleConstruct, argument, type);
  fail(
      ErrorKind::Unsupported,
      fmt::format("an argument of type {} cannot be traced; accepted are tensors, lists and tuples "
                  "of them, and what holds none",
                  to_string(type)));
}

Node* TraceData::create_node(const Operator& op, std::span<const opyard::Value> arguments) {
  const Schema& schema = op.schema();
  std::vector<Value*> inputs;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    try {
      inputs.push_back(value_of(arguments[i], *schema.arguments[i].type));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Unsupported && error.kind() != ErrorKind::BadArgument) throw;
      fail(ErrorKind::Unsupported, fmt::format("{}: argument '{}': {}", to_string(op.name()),
                                               schema.arguments[i].name, error.what()));
    }
  }
  Node* const node =
      graph->create(Symbol::from_qual_string(op.name().name), inputs, schema.results.size());
  if (!op.name().overload.empty()) node->set_overload(Symbol::attr(op.name().overload));
  const Callee callee = resolve(*node);
  if (callee.op != nullptr && callee.op != &op) {
    node->destroy();
    fail(ErrorKind::Unsupported,
         fmt::format(
             "{}: cannot be traced: a graph's text cannot name it apart from {}, which takes "
             "the same arguments",
             to_string(op.name()), to_string(callee.op->name())));
  }
  return node;
}

void TraceData::take_results(Node* node, const Schema& schema,
                             std::span<const opyard::Value> results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    Value* const output = node->outputs()[i];
    const opyard::Value& result = results[i];
    if (result.is_tensor() && result.tensor_unchecked().defined()) {
      output->set_type(type_of_tensor(result.tensor_unchecked()));
      learn(result.tensor_unchecked(), output);
      continue;
    }
    output->set_type(runtime_type(*schema.results[i].type));
    if (result.kind() != Kind::List || !holds_tensor(result)) continue;
    const std::vector<opyard::Value>& items = result.items_unchecked();
    Node* const unpack = append(graph->create(prim::ListUnpack, {output}, items.size()));
    unpacked.push_back(unpack);
    for (std::size_t k = 0; k < items.size(); ++k) {
      if (items[k].is_tensor()) learn(items[k].tensor_unchecked(), unpack->outputs()[k]);
    }
  }
}

void TraceData::drop_unused_constants() {
  const auto drop = [](const std::vector<Node*>& nodes) {
    for (Node* const node : nodes) {
      if (!node->has_uses()) node->destroy();
    }
  };
  drop(unpacked);
  drop(copies);
  drop(constants);
}

}  // namespace opyard::jit
