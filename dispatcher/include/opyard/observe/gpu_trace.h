// opyard/observe/gpu_trace.h: events of devices, for interpreters and a native listener.
//
//   trace_gpu(&Interpreter::trace_gpu_memory_allocation, device.backend, address);
//
// One interpreter of the process can ask to be told; the first one that does stays it. Beside it
// one native listener can, a profile. While no one has asked, telling costs one load of a byte.
// Whatever the interpreter's code raises is said as a warning and goes no further: work on a device
// does not fail because someone watches.
//
// Memory and streams are told of by tensor/device_functions.h; events by the plugins that have
// them.
//
// Depends on: interpreter/interpreter.h.
#pragma once

#include <atomic>
#include <type_traits>

#include "opyard/base/export.h"
#include "opyard/interpreter/interpreter.h"

namespace opyard {

// Told on the thread that works with the device. `what` is the end of the function's name, such as
// "memory_allocation", and of static storage; a word that the function has not is 0.
using DeviceListener = void (*)(const char* what, Backend backend, std::uintptr_t first,
                                std::uintptr_t second) noexcept;

class OPYARD_API GpuTrace {
 public:
  // The native listener from now on; null for none.
  static void listen(DeviceListener listener) noexcept;
  static DeviceListener listener() noexcept { return listener_.load(std::memory_order_relaxed); }
  static bool is_on() noexcept { return on_.load(std::memory_order_relaxed) != 0; }

  // Whether `interpreter` is the one that is told from now on: false if another one was first.
  static bool set(Interpreter* interpreter) noexcept;
  // The one that is told, or null.
  static Interpreter* get() noexcept {
    if ((on_.load(std::memory_order_relaxed) & kInterpreter) == 0) return nullptr;
    return interpreter_.load(std::memory_order_acquire);
  }

 private:
  static constexpr std::uint8_t kInterpreter = 1;
  static constexpr std::uint8_t kListener = 2;
  static std::atomic<std::uint8_t> on_;           // who is told: set after whom it stands for
  static std::atomic<Interpreter*> interpreter_;  // set once
  static std::atomic<DeviceListener> listener_;
};

namespace detail {

// Runs a call of the interpreter; says what it throws, which then goes no further.
using TraceCall = void (*)(Interpreter& interpreter, const void* words);
OPYARD_API OPYARD_COLD void trace_quietly(Interpreter& interpreter, Backend backend, TraceCall call,
                                          const void* words);

// What a function tells of.
template <typename Slot>
const char* name_of_trace(Slot function) noexcept {
#define OPYARD_TRACE(name)                                                      \
  if constexpr (std::is_same_v<Slot, decltype(&Interpreter::trace_gpu_##name)>) \
    if (function == &Interpreter::trace_gpu_##name) return #name;
  OPYARD_TRACE(event_creation)
  OPYARD_TRACE(event_deletion)
  OPYARD_TRACE(event_record)
  OPYARD_TRACE(event_wait)
  OPYARD_TRACE(memory_allocation)
  OPYARD_TRACE(memory_deallocation)
  OPYARD_TRACE(stream_creation)
  OPYARD_TRACE(device_synchronization)
  OPYARD_TRACE(stream_synchronization)
  OPYARD_TRACE(event_synchronization)
#undef OPYARD_TRACE
  return "unknown";
}

inline void tell_listener(const char* what, Backend backend, std::uintptr_t first = 0,
                          std::uintptr_t second = 0) noexcept {
  const DeviceListener listener = GpuTrace::listener();
  if (listener != nullptr) listener(what, backend, first, second);
}

}  // namespace detail

// Tells an event to the interpreters and the native listener that want events of the backend.
template <typename... Words>
void trace_gpu(void (Interpreter::*function)(Backend, Words...), Backend backend,
               std::type_identity_t<Words>... words) {
  if (__builtin_expect(!GpuTrace::is_on(), 1)) return;
  detail::tell_listener(detail::name_of_trace(function), backend, std::uintptr_t(words)...);
  Interpreter* const told = GpuTrace::get();
  if (told == nullptr) return;
  const auto call = [&](Interpreter& interpreter) { (interpreter.*function)(backend, words...); };
  detail::trace_quietly(
      *told, backend,
      [](Interpreter& interpreter, const void* body) {
        (*static_cast<decltype(&call)>(body))(interpreter);
      },
      &call);
}

}  // namespace opyard
