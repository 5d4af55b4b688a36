// opyard/schema/arguments.h: binding C++ arguments to a schema, and results as one value.
//
//   push_arguments(op.schema(), stack, positional, named);
//   op.call_boxed(stack);
//   Value result = pop_results(op.schema(), stack);
//
// call_boxed() wants every argument, in schema order. Here some are given by name, and those that
// are not given are filled with their defaults. Their types are looked at by the call.
//
// Depends on: schema/schema.h, value/stack.h.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "opyard/schema/schema.h"
#include "opyard/value/stack.h"

namespace opyard {

// An argument that is given by name.
struct NamedValue {
  std::string_view name;
  Value value;
};

// Pushes several values, first one first.
template <typename... Values>
void push_all(Stack& stack, Values&&... values) {
  (stack.push(Value(std::forward<Values>(values))), ...);
}

// Pushes an argument for each of the schema. Raises BadArgument, naming operator and argument, for
// too many by position, one that is missing, given twice or unknown; the stack is as it was then.
OPYARD_API void push_arguments(const Schema& schema, Stack& stack,
                               std::span<const Value> positional,
                               std::span<const NamedValue> named = {});
// Takes the results of a call off the stack: None for no result, the one, or a tuple of several.
OPYARD_API Value pop_results(const Schema& schema, Stack& stack);

}  // namespace opyard
