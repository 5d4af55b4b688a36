// prepared/fuse_elements.cpp: groups of operators that compute element by element. See jit/fuse.h.
#include "opyard/jit/fuse.h"

#include "prepared/preparing.h"

namespace opyard::jit::prepared {

std::size_t fuse_elements(Graph& graph) { return passes::fuse(graph); }

}  // namespace opyard::jit::prepared
