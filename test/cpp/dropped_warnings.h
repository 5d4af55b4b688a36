// test/cpp/dropped_warnings.h: drops the warnings of threads that warn at once.
#pragma once

#include "opyard/base/warning.h"

namespace opyard {

// Drops warnings while it lives. One at a time.
class DroppedWarnings {
 public:
  DroppedWarnings() : former_(set_warning_handler([](const Warning&) {})) {}
  DroppedWarnings(const DroppedWarnings&) = delete;
  DroppedWarnings& operator=(const DroppedWarnings&) = delete;
  ~DroppedWarnings() { set_warning_handler(former_); }

 private:
  const WarningHandler former_;
};

}  // namespace opyard
