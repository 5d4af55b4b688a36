// opyard/detail/registry/exchange_tape.h: replacing the functions of an armed tape.
//
// A call loads these functions once it is to be taped, see gradient_slot.h. So a tape that does
// more for a while takes the place of the other, and what it does costs nothing before and after.
//
// Depends on: registry/gradient_slot.h.
#pragma once

#include "opyard/detail/registry/gradient_slot.h"

namespace opyard {

// Calls that begin from now on, on any thread, are taped by these functions, which live as long as
// the process. Raises BadValue before arm_tape().
OPYARD_API void exchange_tape(const TapeFunctions& functions);

}  // namespace opyard
