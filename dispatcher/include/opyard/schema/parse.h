// opyard/schema/parse.h: the schema parser.
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
//             | ("Future" | "RRef" | "Await") "(" type ")"
//             | "Union" "(" type "," type {"," type} ")"
//   alias     = "(" set ["!"] ["->" set] ")" | "!"
//   set       = "*" | ident {"|" ident}
//   default   = number | [number ("+" | "-")] imaginary | "True" | "False" | "None" | text
//             | constant | "[" … "]"
//
// An imaginary number has a j behind it; a sum such as 1.5-2j is written without blanks.
//
// A variable is t or a name that begins with it: t1, tVal. A constant is one that the type
// knows: inf and nan for a float, float or long for a ScalarType, strided for a Layout, and so
// on.
//
// What parses is also checked: a default value fits its type, no two arguments have one name,
// "*" is written once and something follows it, no required argument is behind a defaulted
// one, and the alias sets do not contradict each other: what one argument writes, no other of
// the same set only reads, and no result is marked as written unless an argument is.
//
// All mistakes are reported together, in the order of the text: place, what is wrong, the line
// with a mark below it and, if one change would mend it, that change.
//
//   1:17: a second argument is named 'x'; give one of the two another name
//   f(int x, Tensor x, bool y=true) -> ()
//                   ^
//   1:27: default value true does not fit type 'bool'; write True or False
//   f(int x, Tensor x, bool y=true) -> ()
//                             ^~~~
//   fix: write 'True' instead of 'true'
//
// Depends on: schema/schema.h, text/faults.h.
#pragma once

#include <string_view>
#include <vector>

#include "opyard/detail/text/faults.h"
#include "opyard/detail/text/limits.h"
#include "opyard/schema/schema.h"

namespace opyard {

// What a text may cost, what is wrong with one, and what would mend it. A text past a limit is
// BadSchema and says which limit it was.
using SchemaLimits = TextLimits;
using SchemaFault = TextFault;
using SchemaFix = TextFix;

// A whole schema. Raises BadSchema with all mistakes.
OPYARD_API Schema parse_schema(std::string_view text, const SchemaLimits& limits = {});

// The mistakes for which parse_schema() refuses a text, in source order; none if it takes it.
OPYARD_API std::vector<SchemaFault> find_schema_faults(std::string_view text,
                                                       const SchemaLimits& limits = {});

// "ns::name" or "ns::name.overload". Raises BadSchema.
OPYARD_API OperatorName parse_operator_name(std::string_view text, const SchemaLimits& limits = {});

}  // namespace opyard
