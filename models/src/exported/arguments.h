// exported/arguments.h: arguments of an exported program as values of a graph.
//
// Depends on: files/json.h, jit/graph.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "files/json.h"
#include "opyard/jit/graph.h"

namespace opyard::jit {

// What the program calls its values.
class ExportedValues {
 public:
  ExportedValues(Graph& graph, std::string what) : graph_(graph), what_(std::move(what)) {}

  const std::string& what() const noexcept { return what_; }
  // Raises BadValue for a name that is given twice.
  void define(const std::string& name, Value* value);
  // Raises BadValue for a name that is not defined yet.
  Value* require(const Json& name) const;
  // An argument, {"as_int": 3} and its like, if `type` is wanted; a type of Any takes it as it
  // is. Raises Unsupported for a kind of argument that is not taken here.
  Value* argument(const Json& argument, const Type& type);

 private:
  Value* constant(const opyard::Value& value, const Type& type);
  Value* list(const Json& items, const Type& type);

  Graph& graph_;
  const std::string what_;
  std::map<std::string, Value*> values_;
};

// The one member of {"as_int": 3}. Raises BadValue for another number of members.
std::pair<std::string, const Json*> kind_and_value(const Json& argument, const std::string& what);

}  // namespace opyard::jit
