// opyard/jit/body.h: the body of a composite kernel, read as a graph.
//
//   parse_body(parse_schema("demo::twice(Tensor x) -> Tensor"), "x + x")
//
// The graph takes the operator's arguments and gives its results.
//
// Depends on: jit/expression.h, schema/schema.h.
#pragma once

#include <string_view>

#include "opyard/jit/expression.h"
#include "opyard/schema/schema.h"

namespace opyard::jit {

// Raises BadGraph, with operator, line and column.
OPYARD_API GraphPtr parse_body(const Schema& schema, std::string_view text);

}  // namespace opyard::jit
