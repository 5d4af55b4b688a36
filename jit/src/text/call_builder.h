// text/call_builder.h: calls, operators and literals of an expression, as nodes at the end of a graph.
//
// Depends on: jit/resolve.h.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/jit/resolve.h"

namespace opyard::jit::detail {

using NamedValues = std::vector<std::pair<std::string, Value*>>;

class CallBuilder {
 public:
  CallBuilder(Graph& graph, std::string name_space)
      : graph_(graph), name_space_(std::move(name_space)) {}

  // A call with the types of its results. An int literal may become a float if nothing else fits.
  // Raises BadGraph.
  Node* call(const std::string& name, std::vector<Value*> positional, const NamedValues& by_name);
  // The same for a symbol between two operands, which stands for an operator of aten whatever the
  // namespace has; turned around if only the right one is a tensor.
  Node* binary(const std::string& name, Value* left, Value* right);
  Value* literal(const opyard::Value& value);
  // The literal of the opposite number, if this is a number's literal; else null.
  Value* negated_literal(Value* value);
  // The literal that this one is where a value of the type is wanted too: an int where that is a
  // float, [] where it is a list. Any other literal stays as it is.
  Value* literal_like(Value* value, const Type& wanted);
  // A list literal, or a node that makes one. Raises BadGraph for items of different types.
  Value* list(const std::vector<Value*>& items);

 private:
  void convert_literals(std::vector<Value*>& given, bool lists, bool floats);
  std::string qualified(const std::string& name) const;

  Graph& graph_;
  const std::string name_space_;
};

}  // namespace opyard::jit::detail
