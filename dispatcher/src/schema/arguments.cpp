// schema/arguments.cpp: binding arguments to a schema, in C++.
#include "opyard/schema/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace opyard {
namespace {

std::size_t count_positional(const Schema& schema) {
  return std::size_t(std::count_if(schema.arguments.begin(), schema.arguments.end(),
                                   [](const Argument& one) { return !one.keyword_only; }));
}

// The argument that a name is for. `given` are those that were given already.
std::size_t require_named(const Schema& schema, std::string_view name,
                          const std::vector<bool>& given) {
  const auto& arguments = schema.arguments;
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const Argument& one) { return one.name == name; });
  OPYARD_CHECK(found != arguments.end(), BadArgument,
               fmt::format("Unknown keyword argument '{}' for operator '{}'. Schema: {}", name,
                           schema.name.name, to_string(schema)));
  const auto position = std::size_t(found - arguments.begin());
  OPYARD_CHECK(!given[position], BadArgument,
               fmt::format("Argument '{}' specified both as positional and keyword argument, or "
                           "twice by name. Schema: {}",
                           name, to_string(schema)));
  return position;
}

}  // namespace

void push_arguments(const Schema& schema, Stack& stack, std::span<const Value> positional,
                    std::span<const NamedValue> named) {
  const std::size_t accepted = count_positional(schema);
  OPYARD_CHECK(positional.size() <= accepted, BadArgument,
               fmt::format("Expected at most {} argument(s) for operator '{}', but received {} "
                           "argument(s). Declaration: {}",
                           accepted, schema.name.name, positional.size(), to_string(schema)));
  std::vector<Value> all(schema.arguments.size());
  std::vector<bool> given(all.size(), false);
  for (std::size_t i = 0; i < positional.size(); ++i) {
    all[i] = positional[i];
    given[i] = true;
  }
  for (const NamedValue& one : named) {
    const std::size_t position = require_named(schema, one.name, given);
    all[position] = one.value;
    given[position] = true;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (given[i]) continue;
    const Argument& argument = schema.arguments[i];
    OPYARD_CHECK(argument.default_value, BadArgument,
                 fmt::format("{}() is missing value for argument '{}'. Declaration: {}",
                             schema.name.name, argument.name, to_string(schema)));
    all[i] = *argument.default_value;
  }
  for (Value& value : all) stack.push(std::move(value));
}

Value pop_results(const Schema& schema, Stack& stack) {
  const std::size_t count = schema.results.size();
  if (count == 0) return {};
  if (count == 1) return stack.pop();
  std::vector<Value> items;
  items.reserve(count);
  for (Value& value : stack.top(count)) items.push_back(std::move(value));
  stack.drop(count);
  return Value::tuple(std::move(items));
}

}  // namespace opyard
