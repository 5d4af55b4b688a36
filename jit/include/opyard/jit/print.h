// opyard/jit/print.h: a graph as text, in the form that TorchScript prints; jit/parse.h reads it.
//
//   graph(%x : Tensor,
//         %w : Tensor):
//     %2 : Tensor = aten::mul(%x, %w)
//     return (%2)
//   stage 1(%grad : Tensor):
//     %4 : Tensor = aten::mul(%grad, %w)
//     return (%4)
//
// A later stage has a heading with its own inputs, and each stage returns its own outputs.
//
// Depends on: jit/graph.h.
#pragma once

#include <string>

#include "opyard/jit/graph.h"

namespace opyard::jit {

struct PrintOptions {
  bool source_ranges = false;  // "# model.py:12:4" behind each node that knows where it is from
};

OPYARD_API std::string to_string(const Graph& graph, const PrintOptions& options = {});
// One node without its blocks, as its line in the graph: "%2 : Tensor = aten::mul(%x, %w)".
OPYARD_API std::string to_string(const Node& node);
// Whether the text has a constant tensor's elements. Else it says <Tensor>, which parse_graph()
// refuses.
OPYARD_API bool is_written_out(const Tensor& tensor);

}  // namespace opyard::jit
