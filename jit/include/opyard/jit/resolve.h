// opyard/jit/resolve.h: overload resolution of nodes.
//
// A graph's text names "aten::add" and no overload. One is chosen by the types of the inputs: every
// input fits the argument at its place, what is left out has a default. Of several that fit the
// first one is taken, by the function that also chooses for calls from Python
// (schema/choose_overload.h).
//
// Candidates are the built-in functions on ints, floats, texts and lists that every graph has, then
// the registered operators of that name in order of definition. If there are none, the library that
// has them is loaded first, as by Registry::require(); find_call() alone takes what there is.
//
// Depends on: jit/graph.h, registry/operator.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/jit/graph.h"
#include "opyard/registry/operator.h"

namespace opyard::jit {

struct Builtin;

// One of the two is set.
struct Callee {
  const Operator* op = nullptr;
  const Builtin* builtin = nullptr;

  OPYARD_API const Schema& schema() const noexcept;
};

// A call as it is written: positional arguments, then some by name.
struct GivenTypes {
  std::span<const TypePtr> positional;
  std::span<const std::pair<std::string, TypePtr>> by_name = {};
};

struct Choice {
  Callee callee;
  // For each argument of the schema which of the given ones it is, those by name behind the
  // positional ones; -1 for its default.
  std::vector<int> given;
};
// Raises BadGraph, listing each candidate and why it does not fit.
OPYARD_API Choice choose_call(std::string_view name, std::string_view overload,
                              const GivenTypes& types);
// The same for a text that tries something else then: nothing instead of an error.
OPYARD_API std::optional<Choice> find_call(std::string_view name, std::string_view overload,
                                           const GivenTypes& types);

// The one that takes positional arguments of these types. `name` is "aten::add"; `overload` may be
// empty. Raises BadGraph, listing each candidate and why it does not fit.
OPYARD_API Callee choose_overload(std::string_view name, std::string_view overload,
                                  std::span<const TypePtr> inputs);
// For the node's kind, overload and input types.
OPYARD_API Callee resolve(const Node& node);
// Whether anything of this name is registered or built in.
OPYARD_API bool is_known_operator(std::string_view name);

// The types of the results of a call with inputs of these types: type variables are replaced by
// what they stand for.
OPYARD_API std::vector<TypePtr> result_types(const Schema& schema, std::span<const TypePtr> inputs);

}  // namespace opyard::jit
