// opyard/schema/type_of.h: type inference: the schema type of a value.
//
// Depends on: schema/type.h.
#pragma once

#include "opyard/schema/type.h"

namespace opyard {

// The narrowest type that accepts the value: int, Tensor, str[], Dict(str, int), (int, float),
// demo.Counter. A container has no element type of its own; it is taken from the elements, T? if
// some of them are None, and Any if they differ or there are none. Any too for an empty tuple,
// for an object of an interpreter, for a container inside itself, below 16 levels, and for the
// element of a future that has neither an element type nor a value.
OPYARD_API TypePtr type_of(const Value& value);

// The type of a registered class or enum: what its name stands for in a schema.
OPYARD_API TypePtr type_of(const UserType& type);

}  // namespace opyard
