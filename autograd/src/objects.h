// autograd/objects.h: letting garbage collectors see what lies beside tensors.
//
// Depends on: nothing of ours.
#pragma once

namespace opyard::autograd {

// From now on; more than once is as good.
void show_objects() noexcept;

}  // namespace opyard::autograd
