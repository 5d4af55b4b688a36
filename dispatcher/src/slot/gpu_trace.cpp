// slot/gpu_trace.cpp: who is told of devices, and what becomes of what that raises.
#include "opyard/slot/gpu_trace.h"

#include <cxxabi.h>

#include <string>

#include "opyard/base/warning.h"

namespace opyard {
namespace {

// A warning that cannot be said is not said: this is called where nothing may fail.
void say(Backend backend, const char* what) noexcept {
  try {
    warn_late(to_string(backend) + " trace hook execution failed: " + what);
  } catch (...) {  // out of memory
  }
}

}  // namespace

constinit std::atomic<bool> GpuTrace::on_{false};
constinit std::atomic<Interpreter*> GpuTrace::interpreter_{nullptr};

bool GpuTrace::set(Interpreter* interpreter) noexcept {
  Interpreter* first = nullptr;
  interpreter_.compare_exchange_strong(first, interpreter, std::memory_order_acq_rel);
  on_.store(true, std::memory_order_release);
  return first == nullptr || first == interpreter;
}

OPYARD_CATCHES_FORCED_UNWIND void detail::trace_quietly(Interpreter& interpreter, Backend backend,
                                                        TraceCall call, const void* words) {
  try {
    call(interpreter, words);
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (const std::exception& error) {
    say(backend, error.what());
  } catch (...) {
    say(backend, "something was thrown that is no std::exception");
  }
}

}  // namespace opyard
