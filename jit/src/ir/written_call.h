// ir/written_call.h: calls as an expression writes them.
//
// Depends on: jit/resolve.h.
#pragma once

#include "opyard/jit/resolve.h"

namespace opyard::jit::detail {

// As find_call() and choose_call() of any overload; but what a schema takes by name only is given
// by name, while a node has all of its inputs in a row.
std::optional<Choice> find_written_call(std::string_view name, const GivenTypes& types);
Choice choose_written_call(std::string_view name, const GivenTypes& types);

}  // namespace opyard::jit::detail
