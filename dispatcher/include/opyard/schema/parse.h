// opyard/schema/parse.h: from text to a schema.
//
// The grammar, with [x] optional and {x} repeated:
//
//   schema    = name "(" arguments ")" "->" results
//   name      = ident ["::" ident] ["." overload]
//   arguments = [argument {"," argument}]          "*" starts keyword-only, "..." ends
//   results   = type [ident] | "(" [result {"," result}] ")" | "..."
//   argument  = type ident ["=" default]
//   type      = simple [alias] {"[" [number] "]" [alias] | "?"}
//   simple    = base | variable | "(" type {"," type} ")" | "Dict" "(" type "," type ")"
//             | ("Future" | "RRef") "(" type ")" | "Union" "(" type "," type {"," type} ")"
//   alias     = "(" set ["!"] ["->" set] ")" | "!"
//   set       = "*" | ident {"|" ident}
//   default   = number | "True" | "False" | "None" | text | constant | "[" … "]"
//
// A variable is t or a name that begins with it: t1, tVal. A constant is one that the type
// knows: inf and nan for a float, float or long for a ScalarType, strided for a Layout, and so
// on. A default that does not fit its type, a second argument of a name, a second "*", a "*"
// that nothing follows and a required argument behind a defaulted one are errors.
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
  std::size_t nesting = 256;      // levels of a type or a default value; above 1024 it is 1024
  std::size_t name_bytes = 1024;  // of each name
  std::size_t arguments = 255;    // also of results, of names in an alias set, of repeated defaults
  std::size_t nodes = 1 << 14;    // types, alias sets and default values, together
  std::size_t bytes = 1 << 20;
};

// A whole schema. Raises BadSchema.
OPYARD_API Schema parse_schema(std::string_view text, const SchemaLimits& limits = {});

// "ns::name" or "ns::name.overload". Raises BadSchema.
OPYARD_API OperatorName parse_operator_name(std::string_view text, const SchemaLimits& limits = {});

}  // namespace opyard
