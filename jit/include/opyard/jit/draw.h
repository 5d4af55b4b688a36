// opyard/jit/draw.h: drawing a graph as SVG.
//
// Depends on: jit/graph.h.
#pragma once

#include <string>

#include "opyard/jit/graph.h"

namespace opyard::jit {

// A whole SVG document. Names are escaped, so that a graph of a stranger can be shown in a page.
// Raises Unsupported for a graph of more than 5,000 nodes.
OPYARD_API std::string draw(const Graph& graph);

}  // namespace opyard::jit
