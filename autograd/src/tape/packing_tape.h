// autograd/tape/packing_tape.h: exchange of the tape's functions while saved tensors have hooks.
//
// Depends on: opyard/autograd/saved_hooks.h.
#pragma once

#include "opyard/autograd/saved_hooks.h"

namespace opyard::autograd {

// The tape as long as a thread has hooks, or not; defined with the tape.
void pack_while_taping(bool packs);

}  // namespace opyard::autograd
