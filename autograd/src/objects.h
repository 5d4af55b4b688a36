// autograd/objects.h: what garbage collectors are to see of tensors' gradients.
//
// Depends on: nothing of ours.
#pragma once

namespace opyard::autograd {

// From now on; more than once is as good.
void show_objects() noexcept;

}  // namespace opyard::autograd
