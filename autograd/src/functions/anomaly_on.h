// autograd/functions/anomaly_on.h: the switch of anomaly mode.
//
// Depends on: nothing else of ours.
#pragma once

#include <atomic>

namespace opyard::autograd {

extern constinit std::atomic<bool> anomaly_on;

}  // namespace opyard::autograd
