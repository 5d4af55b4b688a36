// autograd/functions/objects.h: installs the functions by which tensors ask for their gradients.
//
// Depends on: nothing of ours.
#pragma once

namespace opyard::autograd {

// From now on; more than once is as good.
void answer_tensors() noexcept;

}  // namespace opyard::autograd
