// autograd/tape/plain_tape.h: fast path of taping: no writes, no lists.
//
// Depends on: autograd/plan.h.
#pragma once

#include "functions/plan.h"

namespace opyard::autograd {

enum class Taped {
  Done,
  NotNeeded,  // no tensor needs a gradient: the call is still to be made
  NotPlain,   // this call is none for the short way, and is still to be made
};
// Gradients are on, and the plan is plain.
Taped tape_plain(const Plan& plan, const Operator& op, DispatchKeySet keys, Stack& stack);

// A result that a kernel gave and kept, which has a history: another tensor, for that of this call.
Tensor with_own_history(const Operator& op, const Tensor& result, bool is_view);
// The tensor of which a taped view was made: its base, in the state of the view.
void note_base(const Tensor& view, const Tensor& of);

}  // namespace opyard::autograd
