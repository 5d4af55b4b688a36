// opyard/schema/arguments.h: the arguments of a call, as a caller gives them, in the schema's order.
//
//   Stack stack;
//   push_arguments(stack, op.schema(), {x, y}, {{"alpha", 2.0}});
//   op.call_boxed(stack);
//
// Depends on: schema/schema.h, value/stack.h.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

#include "opyard/schema/schema.h"
#include "opyard/value/stack.h"

namespace opyard {

// An argument by name.
using Keyword = std::pair<std::string_view, Value>;

// Pushes one value for each argument of the schema: what was given by position, then by name, and
// defaults for the rest. Nothing is converted. Raises BadArgument for too many values, for a
// missing one, for one that the schema does not accept, for an argument that is given twice and for
// an unknown name, in this order; the stack is then as it was. Raises Unsupported for a schema with
// "..." among its arguments.
OPYARD_API void push_arguments(Stack& stack, const Schema& schema,
                               std::span<const Value> positional,
                               std::span<const Keyword> keywords = {});
inline void push_arguments(Stack& stack, const Schema& schema,
                           std::initializer_list<Value> positional,
                           std::initializer_list<Keyword> keywords = {}) {
  push_arguments(stack, schema, std::span(positional.begin(), positional.size()),
                 std::span(keywords.begin(), keywords.size()));
}

}  // namespace opyard
