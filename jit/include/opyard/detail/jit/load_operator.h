// opyard/detail/jit/load_operator.h: operators that are loaded when a graph first names them.
//
// Depends on: jit/graph.h.
#pragma once

#include <string>
#include <string_view>

#include "opyard/jit/graph.h"

namespace opyard::jit::detail {

// Has the library loaded that brings "ns::name", as Registry::require() does, unless an operator of
// this name is known. Raises what its loading raises.
OPYARD_API void load_operator(std::string_view name);
// The same for what a node calls; nothing is loaded for what a restricted graph may not call.
void load_operator(const Node& node);

// Advice for the error about an unknown operator: the name that may be meant, or where the
// operator may be; empty for most.
OPYARD_API std::string where_it_may_be(std::string_view name);

}  // namespace opyard::jit::detail
