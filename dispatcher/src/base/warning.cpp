// base/warning.cpp: warning handlers.
#include "opyard/base/warning.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>

namespace opyard {
namespace {

constinit std::atomic<WarningHandler> current_handler{nullptr};
constinit std::atomic<LateWarningHandler> current_late{nullptr};
constinit std::atomic<bool> always{false};

void print(const std::string& message) noexcept {
  std::fprintf(stderr, "opyard: warning: %s\n", message.c_str());
}

void print_warning(const Warning& warning) {
  if (const WarningHandler handler = current_handler.load(std::memory_order_acquire)) {
    handler(warning);
  } else {
    print(warning.message);
  }
}

}  // namespace

const char* name_of(WarningKind kind) noexcept {
  static constexpr const char* kNames[] = {
#define OPYARD_WARNING_KIND(kind, python, meaning) #kind,
#include "opyard/base/warning_kinds.def"
#undef OPYARD_WARNING_KIND
  };
  return kNames[int(kind)];
}

WarningHandler set_warning_handler(WarningHandler handler) noexcept {
  return current_handler.exchange(handler, std::memory_order_acq_rel);
}

void warn(WarningKind kind, const std::string& message) { print_warning({kind, message, false}); }
void warn(const std::string& message) { warn(WarningKind::User, message); }
void warn_at_once(WarningKind kind, const std::string& message) {
  print_warning({kind, message, true});
}

bool set_warn_always(bool wanted) noexcept {
  return always.exchange(wanted, std::memory_order_relaxed);
}
bool warn_always() noexcept { return always.load(std::memory_order_relaxed); }

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

void detail::warn_from(WarningKind kind, std::string_view message, const char* file, int line) {
  warn(kind, fmt::format("{} ({}:{})", message, file, line));
}

}  // namespace opyard
