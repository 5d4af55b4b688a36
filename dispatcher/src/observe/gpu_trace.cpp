// observe/gpu_trace.cpp: callbacks for device events, and errors in them.
#include "opyard/observe/gpu_trace.h"

#include <cxxabi.h>

#include <string>

#include "opyard/base/warning.h"

namespace opyard {
namespace {

// A warning that cannot be given is dropped: callers cannot handle a failure.
void report_ignored(Backend backend, const char* what) noexcept {
  try {
    warn_late(to_string(backend) + " trace hook execution failed: " + what);
  } catch (...) {  // out of memory
  }
}

}  // namespace

constinit std::atomic<std::uint8_t> GpuTrace::on_{0};
constinit std::atomic<Interpreter*> GpuTrace::interpreter_{nullptr};
constinit std::atomic<DeviceListener> GpuTrace::listener_{nullptr};

bool GpuTrace::set(Interpreter* interpreter) noexcept {
  Interpreter* first = nullptr;
  interpreter_.compare_exchange_strong(first, interpreter, std::memory_order_acq_rel);
  on_.fetch_or(kInterpreter, std::memory_order_release);
  return first == nullptr || first == interpreter;
}

void GpuTrace::listen(DeviceListener listener) noexcept {
  listener_.store(listener, std::memory_order_relaxed);
  if (listener != nullptr) {
    on_.fetch_or(kListener, std::memory_order_release);
  } else {
    on_.fetch_and(std::uint8_t(~kListener), std::memory_order_release);
  }
}

OPYARD_CATCHES_FORCED_UNWIND void detail::trace_quietly(Interpreter& interpreter, Backend backend,
                                                        TraceCall call, const void* words) {
  try {
    call(interpreter, words);
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (const std::exception& error) {
    report_ignored(backend, error.what());
  } catch (...) {
    report_ignored(backend, "something was thrown that is no std::exception");
  }
}

}  // namespace opyard
