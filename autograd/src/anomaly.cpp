// autograd/anomaly.cpp: the mode, and whose backtrace a function notes.
#include "opyard/autograd/anomaly.h"

#include <atomic>

#include "opyard/base/backtrace.h"

namespace opyard::autograd {
namespace {

constinit std::atomic<bool> is_on{false};
constinit std::atomic<bool> checks_nan{true};
constinit std::atomic<std::string (*)()> place_of_caller{nullptr};

}  // namespace

Anomaly anomaly() noexcept {
  return {is_on.load(std::memory_order_relaxed), checks_nan.load(std::memory_order_relaxed)};
}
void set_anomaly(Anomaly mode) noexcept {
  checks_nan.store(mode.check_nan);
  is_on.store(mode.on);
}
void set_anomaly_place(std::string (*place)()) noexcept { place_of_caller.store(place); }

std::string anomaly_place() {
  auto* const place = place_of_caller.load();
  return place == nullptr ? std::string() : place();
}

}  // namespace opyard::autograd
