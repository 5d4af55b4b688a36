// autograd/anomaly_on.h: whether the mode is on, for what is done at every recorded call.
//
// Depends on: nothing else of ours.
#pragma once

#include <atomic>

namespace opyard::autograd {

extern constinit std::atomic<bool> anomaly_on;

}  // namespace opyard::autograd
