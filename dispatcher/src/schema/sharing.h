// schema/sharing.h: object sharing between values, by their types.
//
// Depends on: schema/type.h.
#pragma once

#include "opyard/schema/type.h"

namespace opyard::detail {

// An int is never shared; a list is no tensor; an optional or a union is what is in it; what
// can be anything can be anything that is shared.
bool can_be_one_object(const Type& a, const Type& b);

}  // namespace opyard::detail
