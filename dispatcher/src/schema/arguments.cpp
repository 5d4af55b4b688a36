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

// The position of the argument of this name; the number of arguments if there is none.
std::size_t find_named(const Schema& schema, std::string_view name) {
  const auto& arguments = schema.arguments;
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const Argument& one) { return one.name == name; });
  return std::size_t(found - arguments.begin());
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
  const NamedValue* unknown = nullptr;  // an argument that is missing is the first to be reported
  for (const NamedValue& one : named) {
    const std::size_t position = find_named(schema, one.name);
    if (position == all.size()) {
      if (unknown == nullptr) unknown = &one;
      continue;
    }
    OPYARD_CHECK(!given[position], BadArgument,
                 fmt::format("Argument '{}' specified both as positional and keyword argument, or "
                             "twice by name. Schema: {}",
                             one.name, to_string(schema)));
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
  OPYARD_CHECK(unknown == nullptr, BadArgument,
               fmt::format("Unknown keyword argument '{}' for operator '{}'. Schema: {}",
                           unknown->name, schema.name.name, to_string(schema)));
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
