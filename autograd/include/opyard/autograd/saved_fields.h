// opyard/autograd/saved_fields.h: saved values of backward functions, by name.
//
// The names are those of the call: "self" and "other" of arguments, "result", or "result0" and
// "result1", of results, "self_sizes" of the sizes of an argument. Each function of an operator
// with formulas has the names that its formulas use, whether a call saved them or not.
//
// Depends on: autograd/saved_hooks.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "opyard/autograd/saved_hooks.h"
#include "opyard/value/value.h"

namespace opyard::autograd {

// Empty for a function that is no operator's with formulas.
OPYARD_API std::vector<std::string> saved_names(const Function& function);
// As a run takes it out: None if no formula of this call needed it. Raises NotFound for another
// name, BadValue if it was freed, or written since.
OPYARD_API Value saved_value(Function& function, const std::string& name);
// Has the hooks pack a tensor that is saved by that name, of a list the one at `position`. Raises
// what saved_value() raises, and BadValue for what is no tensor, or packed already.
OPYARD_API void pack_saved(Function& function, const std::string& name, std::size_t position,
                           SavedHooks& hooks);

}  // namespace opyard::autograd
