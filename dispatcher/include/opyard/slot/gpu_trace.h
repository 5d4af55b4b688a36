// opyard/slot/gpu_trace.h: telling an interpreter what happens on devices.
//
//   trace_gpu(&Interpreter::trace_gpu_memory_allocation, device.backend, address);
//
// One interpreter of the process can ask to be told; the first one that does stays it. While none has
// asked, telling costs one load of a byte. Whatever the interpreter's code raises is said as a warning
// and goes no further: work on a device does not fail because someone watches.
//
// Memory and streams are told of by tensor/device_functions.h; events by the plugins that have them.
//
// Depends on: slot/interpreter.h.
#pragma once

#include <atomic>
#include <type_traits>

#include "opyard/base/export.h"
#include "opyard/slot/interpreter.h"

namespace opyard {

class OPYARD_API GpuTrace {
 public:
  // Whether `interpreter` is the one that is told from now on: false where another one was first.
  static bool set(Interpreter* interpreter) noexcept;
  // The one that is told, or null.
  static Interpreter* get() noexcept {
    if (!on_.load(std::memory_order_relaxed)) return nullptr;
    return interpreter_.load(std::memory_order_acquire);
  }

 private:
  static std::atomic<bool> on_;                   // set once, after interpreter_
  static std::atomic<Interpreter*> interpreter_;  // set once
};

namespace detail {

// Runs a call of a slot; says what it throws, which then goes no further.
using TraceCall = void (*)(Interpreter& interpreter, const void* words);
OPYARD_API OPYARD_COLD void trace_quietly(Interpreter& interpreter, Backend backend, TraceCall call,
                                          const void* words);

}  // namespace detail

template <typename... Words>
void trace_gpu(void (Interpreter::*slot)(Backend, Words...), Backend backend,
               std::type_identity_t<Words>... words) {
  Interpreter* const told = GpuTrace::get();
  if (__builtin_expect(told == nullptr, 1)) return;
  const auto call = [&](Interpreter& interpreter) { (interpreter.*slot)(backend, words...); };
  detail::trace_quietly(
      *told, backend,
      [](Interpreter& interpreter, const void* body) {
        (*static_cast<decltype(&call)>(body))(interpreter);
      },
      &call);
}

}  // namespace opyard
