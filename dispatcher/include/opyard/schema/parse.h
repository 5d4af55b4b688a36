// opyard/schema/parse.h: from text to a schema.
//
// The grammar, with [x] optional and {x} repeated:
//
//   schema    = name "(" arguments ")" "->" results
//   name      = ident ["::" ident] ["." overload]
//   arguments = [argument {"," argument}]          "*" starts keyword-only, "..." ends
//   results   = type [ident] | "(" [result {"," result}] ")" | "..."
//   argument  = type ident ["=" default]
//   type      = base [alias] {"[" [number] "]" [alias] | "?"} | "(" type {"," type} ")" | …
//   alias     = "(" set ["!"] ["->" set] ")" | "!"
//
// An error is BadSchema with line, column, what was expected, and a caret under the place:
//
//   1:17: expected ')' but found the end
//   demo::f(Tensor x
//                   ^
//
// Depends on: schema/schema.h.
#pragma once

#include <cstddef>
#include <string_view>

#include "opyard/schema/schema.h"

namespace opyard {

// What a text may cost. A text past a limit is BadSchema and says which one.
struct SchemaLimits {
  std::size_t nesting = 256;
  std::size_t name_bytes = 1024;
  std::size_t arguments = 255;
  std::size_t bytes = 1 << 20;
};

// A whole schema. Raises BadSchema.
OPYARD_API Schema parse_schema(std::string_view text, const SchemaLimits& limits = {});

// "ns::name" or "ns::name.overload". Raises BadSchema.
OPYARD_API OperatorName parse_operator_name(std::string_view text, const SchemaLimits& limits = {});

}  // namespace opyard
