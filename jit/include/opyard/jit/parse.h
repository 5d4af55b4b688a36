// opyard/jit/parse.h: the parser of graphs.
//
// The form is the one that TorchScript prints, see jit/print.h. The grammar, with [x] optional and
// {x} repeated:
//
//   text       = graph {"with" kind "=" graph}
//   graph      = "graph" "(" values ")" ":" {node} return {stage}
//   stage      = "stage" number "(" values ")" ":" {node} return
//   return     = "return" "(" names ")"
//   values     = [value {"," value}]                value = name [":" type]
//   node       = [[values] "="] operation "(" names ")" {block}
//   operation  = kind ["[" attributes "]"] | "^" ident ["[" attributes "]"] "(" literals ")"
//   kind       = ident "::" ident ["." overload]
//   attributes = ident "=" literal {"," ident "=" literal}
//   block      = "block" number "(" values ")" ":" {node} "->" "(" names ")"
//   literal    = number | text | True | False | None | "{" number "}" | type
//              | "[" literals "]" | "(" literals ")" | "{" literal ":" literal … "}"
//   type       = base | element ["(" sizes ")"] | "(" type {"," type} ")" | Dict "(" type "," type ")"
//              | Future "(" type ")" | type "[]" | type "?"
//
// A name is % and letters, digits, _ and points. A value without a type is a Tensor. A name that is
// defined again means the newer value from there on, in a block until the block ends. A "#" begins
// a comment. What is read is linted.
//
// Faults are raised as BadGraph: line, column, what is wrong, the line with a mark below it.
//
// Depends on: jit/graph.h, detail/text/limits.h.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "opyard/detail/text/limits.h"
#include "opyard/jit/graph.h"

namespace opyard::jit {

struct ParseOptions {
  // Nodes are counted together with types and literals.
  TextLimits limits = {.nesting = 256,
                       .name_bytes = 1024,
                       .items = 1 << 16,
                       .nodes = 8'000'000,
                       .bytes = std::size_t{64} << 20,
                       .faults = 1};
  // What source ranges of nodes call the text.
  std::string source = "<graph>";
  // What <Tensor> stands for, in order; one too few is an error.
  std::vector<Tensor> tensors;
  // For the text of a stranger: the graph may call the operators in `allowed` and no others, and
  // runs with a budget only. See Graph::restrict_to().
  bool untrusted = false;
  std::vector<std::string> allowed;
  // If set, it is told which value each name means at the end of the text, without the %.
  std::unordered_map<std::string, Value*>* names = nullptr;
};

// Raises BadGraph.
OPYARD_API GraphPtr parse_graph(std::string_view text, const ParseOptions& options = {});
// A type as a graph's text writes it. Raises BadGraph.
OPYARD_API TypePtr parse_type(std::string_view text, const ParseOptions& options = {});

}  // namespace opyard::jit
