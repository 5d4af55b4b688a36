// opyard/jit/expression.h: the expression parser: one expression, such as a derivative, as a graph.
//
//   parse_expression("sum_to(grad * conj(other), self)", {{"grad", tensor}, {"self", tensor}, …})
//
// The grammar is that of Python's expressions, as far as it goes, with statements before them:
//
//   body       = {statement ";"} result
//   statement  = "let" name {"," name} "=" result | "require" expr "," text
//   result     = expr {"," expr} [","]            several outputs
//   expr       = comparison | "if" expr "{" body "}" "else" ("{" body "}" | expr)
//   comparison = sum [("==" | "!=" | "<" | "<=" | ">" | ">=") sum]
//   sum        = product {("+" | "-") product}
//   product    = unary {("*" | "/" | "//" | "%" | "@") unary}
//   unary      = "-" unary | power                 power = postfix ["**" unary]
//   postfix    = atom {"." name "(" arguments ")" | "[" integer "]"}
//   atom       = name | [namespace "."] name "(" arguments ")" | number | text | True | False | None
//              | "(" result ")" | "[" [expr {"," expr}] "]"
//
// A name without parentheses is an input, or what a let of this block or one around it gave it.
// Behind a condition that asks whether a name is None, it means what is there. A function is looked
// up in the namespace that is given, then in aten, then in opyard, which has what only formulas
// call, unless it is written behind its namespace; what overload it is depends on the types. An
// operator of several results is a tuple, of which [i] takes one. A number with a Tensor on its
// right is turned around: 2 * x is x * 2, 1 - x is rsub(x, 1). There are neither loops nor
// functions: what runs is no more than what is written.
//
// Depends on: jit/parse.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/jit/parse.h"

namespace opyard::jit {

// A name that an expression may use, and the type of its value.
struct ExpressionInput {
  std::string name;
  TypePtr type;
};

struct ExpressionOptions {
  std::string name_space = "aten";  // asked before aten and opyard
  TextLimits limits = {.faults = 1};
  std::string source = "<expression>";
  // If set, what the results are to be: as many, and of these types.
  std::optional<std::vector<TypePtr>> results = std::nullopt;
};

// The graph has all inputs, also those that the expression does not use. Raises BadGraph.
OPYARD_API GraphPtr parse_expression(std::string_view text, std::span<const ExpressionInput> inputs,
                                     const ExpressionOptions& options = {});

}  // namespace opyard::jit
