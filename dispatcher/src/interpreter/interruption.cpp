// interpreter/interruption.cpp: interruption check of the process.
#include "opyard/interpreter/interruption.h"

namespace opyard {

constinit std::atomic<InterruptionCheck> interruption_check{nullptr};

}  // namespace opyard
