// autograd/functions/anomaly.cpp: anomaly mode, and call sites of backward functions.
#include "opyard/autograd/anomaly.h"

#include <atomic>

#include "functions/anomaly_on.h"
#include "opyard/base/backtrace.h"

namespace opyard::autograd {

constinit std::atomic<bool> anomaly_on{false};

namespace {

constinit std::atomic<bool> checks_nan{true};
constinit std::atomic<std::string (*)()> call_site_of_thread{nullptr};

}  // namespace

Anomaly anomaly() noexcept {
  return {anomaly_on.load(std::memory_order_relaxed), checks_nan.load(std::memory_order_relaxed)};
}
void set_anomaly(Anomaly mode) noexcept {
  checks_nan.store(mode.check_nan);
  anomaly_on.store(mode.on);
}
void set_anomaly_call_site(std::string (*call_site)()) noexcept {
  call_site_of_thread.store(call_site);
}

std::string anomaly_call_site() {
  auto* const call_site = call_site_of_thread.load();
  return call_site == nullptr ? std::string() : call_site();
}

}  // namespace opyard::autograd
