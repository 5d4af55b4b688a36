// autograd/tape/forward_call.h: the kernel of the layer ForwardMode, for every operator.
//
// Depends on: registry/operator.h.
#pragma once

#include "opyard/registry/operator.h"

namespace opyard::autograd {

// A call of which a tensor may have a tangent, with its arguments on top of the stack. See
// forward/call.cpp.
void run_forward(const Operator& op, DispatchKeySet keys, Stack& stack);

}  // namespace opyard::autograd
