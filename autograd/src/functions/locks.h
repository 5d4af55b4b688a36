// autograd/functions/locks.h: the one lock of this library.
//
// Not held while code of a user, or a call, runs.
//
// Depends on: base/mutex.h.
#pragma once

#include "opyard/detail/base/mutex.h"

namespace opyard::autograd {

Mutex& gradients_lock();

}  // namespace opyard::autograd
