// base/warning.cpp: where warnings go.
#include "opyard/base/warning.h"

#include <atomic>
#include <cstdio>

namespace opyard {
namespace {

constinit std::atomic<WarningHandler> current{nullptr};
constinit std::atomic<LateWarningHandler> current_late{nullptr};

void print(const std::string& message) noexcept {
  std::fprintf(stderr, "opyard: warning: %s\n", message.c_str());
}

}  // namespace

WarningHandler set_warning_handler(WarningHandler handler) noexcept {
  return current.exchange(handler, std::memory_order_acq_rel);
}

void warn(const std::string& message) {
  if (const WarningHandler handler = current.load(std::memory_order_acquire)) {
    handler(message);
  } else {
    print(message);
  }
}

LateWarningHandler set_late_warning_handler(LateWarningHandler handler) noexcept {
  return current_late.exchange(handler, std::memory_order_acq_rel);
}

void warn_late(const std::string& message) noexcept {
  if (const LateWarningHandler handler = current_late.load(std::memory_order_acquire)) {
    handler(message);
  } else {
    print(message);
  }
}

}  // namespace opyard
