// opyard/jit/formula.h: a derivative's formula, read as a graph.
//
//   parse_formula(op, {"self", "sum_to(grad * conj(other), self)"})
//
// The graph takes every name that formulas of the operator may use, in the order of
// formula_names(), and gives a gradient for each argument that the formula is of:
//
//   grad, grad0 …     the gradient of a result
//   self, other …     an argument, by its name
//   result, result0 … a result, also by the name that the schema gives it
//
// [Tangents] A line of a derivative begins with a word that says its kind: {"tangent self", …}
// gives the tangents of the results for one of the argument, which it calls tangent. What begins
// with no such word is a formula.
//
// Depends on: jit/expression.h, registry/{operator,gradient_slot}.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/detail/registry/gradient_slot.h"
#include "opyard/jit/expression.h"
#include "opyard/registry/operator.h"

namespace opyard::jit {

// The names that a formula may use, and what each means.
struct FormulaNames {
  enum class Kind : std::uint8_t { Gradient, Argument, Result };
  struct Meaning {
    Kind kind;
    std::size_t index;  // of the result or argument
  };
  std::vector<ExpressionInput> inputs;
  std::vector<Meaning> meanings;  // by input
};
// The names that a formula of this operator may use, with what each means.
OPYARD_API FormulaNames formula_names(const Schema& schema);

struct ParsedFormula {
  std::vector<std::size_t> arguments;  // that it is of
  GraphPtr graph;                      // null for None: they have no gradient
};
// Raises BadGraph, with operator, formula, column and caret.
OPYARD_API ParsedFormula parse_formula(const Operator& op, const Formula& formula,
                                       const FormulaNames& names);

// See [Tangents]: the argument that such a line is of, or empty for a formula.
OPYARD_API std::string_view tangent_line(const Formula& formula) noexcept;
struct TangentMeaning {
  enum class Kind : std::uint8_t { Tangent, Argument, Result };
  Kind kind;
  std::size_t index;  // of the argument or result
};
struct ParsedTangent {
  std::size_t argument;
  std::vector<TangentMeaning> meanings;  // by input of the graph
  GraphPtr graph;                        // gives a tangent, or None, for each result
};
// Raises BadGraph, with operator, line, column and caret.
OPYARD_API ParsedTangent parse_tangent(const Operator& op, const Formula& line);

// Whether a node of a formula looks at no element of what it is asked of, as opyard::sizes. Asked
// of arguments and results alone such a node is asked when the call is taped.
OPYARD_API bool is_question(const Node& node);
// Whether a formula reads elements of one of its inputs, and not sizes alone.
OPYARD_API bool reads_elements(const Value& input);
// Whether a formula says how it reads complex numbers: by conj() or another function of their
// parts, or by an operator that is a backward. Others are for real numbers alone.
OPYARD_API bool knows_complex(const Graph& formula);
// The formula for real numbers, which are their own conjugates: takes each conj() out of its graph
// whose argument is real if the formula's inputs are. Whether there was one.
OPYARD_API bool drop_conjugations(Graph& formula);

}  // namespace opyard::jit
