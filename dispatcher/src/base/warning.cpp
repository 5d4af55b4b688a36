// base/warning.cpp: where warnings go.
#include "opyard/base/warning.h"

#include <atomic>
#include <cstdio>

namespace opyard {
namespace {

constinit std::atomic<WarningHandler> current{nullptr};

}  // namespace

WarningHandler set_warning_handler(WarningHandler handler) noexcept {
  return current.exchange(handler, std::memory_order_acq_rel);
}

void warn(const std::string& message) {
  if (const WarningHandler handler = current.load(std::memory_order_acquire)) {
    handler(message);
  } else {
    std::fprintf(stderr, "opyard: warning: %s\n", message.c_str());
  }
}

}  // namespace opyard
