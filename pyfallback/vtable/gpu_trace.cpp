// vtable/gpu_trace.cpp: device events for Python callbacks.
//
// [Late] Memory and events also end in destructors, which take no GIL. Such an event is put aside
// on a thread without it, and told by a pending call of the main thread, or before the next event.
// Once the interpreter has ended nothing is told.
#include "vtable/gpu_trace.h"

#include <new>
#include <utility>

#include "opyard/observe/gpu_trace.h"
#include "runtime/errors.h"
#include "runtime/gil.h"
#include "runtime/hooks.h"
#include "runtime/types.h"
#include "vtable/vtable.h"

namespace opyard::python {

// An event that was put aside, on a chain with the newest first.
struct LateTrace {
  const char* event;
  std::uintptr_t word;
  LateTrace* next;
};

namespace {

// With the GIL held. Throws PythonErrorSet if not even the logging works.
template <typename... Words>
void fire(Runtime& runtime, const char* event, Words... words) {
  const Owned name = to_text(event);
  const Owned arguments[] = {Owned(), checked(PyLong_FromUnsignedLongLong(words))...};
  PyObject* all[1 + sizeof...(Words)] = {name.get()};
  for (std::size_t i = 1; i <= sizeof...(Words); ++i) all[i] = arguments[i].get();
  PyObject* const callbacks = require_hook(runtime, hook::trace_gpu);
  checked(in_python(
      [&] { return PyObject_Vectorcall(callbacks, all, 1 + sizeof...(Words), nullptr); }));
}

int tell_pending(void* context);

// Before all that has come meanwhile.
void put_aside_again(Runtime& runtime, LateTrace* oldest) {
  LateTrace* newest = nullptr;
  while (oldest != nullptr) newest = std::exchange(oldest, std::exchange(oldest->next, newest));
  while (newest != nullptr) {
    LateTrace* others = nullptr;
    if (runtime.late_traces.compare_exchange_strong(others, newest, std::memory_order_release,
                                                    std::memory_order_relaxed)) {
      break;
    }
    others = runtime.late_traces.exchange(nullptr, std::memory_order_acquire);
    if (others == nullptr) continue;
    LateTrace* last = others;
    while (last->next != nullptr) last = last->next;
    last->next = std::exchange(newest, others);
  }
  if (runtime.is_main) static_cast<void>(Py_AddPendingCall(tell_pending, &runtime));
}

// What a callback raises that is no Exception, such as KeyboardInterrupt, ends the telling; what is
// left is told the next time.
void tell_late_with_gil_held(Runtime& runtime) {
  LateTrace* newest = runtime.late_traces.exchange(nullptr, std::memory_order_acquire);
  LateTrace* oldest = nullptr;
  while (newest != nullptr) {
    LateTrace* const next = std::exchange(newest->next, oldest);
    oldest = std::exchange(newest, next);
  }
  while (oldest != nullptr) {
    const std::unique_ptr<LateTrace> told(std::exchange(oldest, oldest->next));
    try {
      fire(runtime, told->event, told->word);
    } catch (...) {
      if (oldest != nullptr) put_aside_again(runtime, oldest);
      throw;
    }
  }
}

int tell_pending(void* context) {
  return enter_from_python(-1, [&] {
    Runtime& runtime = *static_cast<Runtime*>(context);
    if (holds_gil(runtime)) tell_late_with_gil_held(runtime);
    return 0;
  });
}

// Runs a body with the GIL and keeps an exception that is on its way. Nothing if Python has
// ended.
template <typename Body>
void enter_listener(Runtime& runtime, const Body& body) {
  if (runtime.gate.closed() && !holds_gil(runtime)) return;
  const LeaveInterpreter other(runtime);
  const HoldGil gil(runtime);
  PyObject* const former = take_exception();
  try {
    tell_late_with_gil_held(runtime);
    body();
  } catch (const PythonErrorSet&) {
    PyObject* const raised = take_exception();
    if (former != nullptr) restore_exception(former);
    throw to_error(runtime, Owned::steal(raised));
  }
  if (former != nullptr) restore_exception(former);
}

template <typename... Words>
void tell_listeners(Interpreter& interpreter, const char* event, Words... words) {
  Runtime& runtime = runtime_of(interpreter);
  enter_listener(runtime, [&] { fire(runtime, event, words...); });
}

// See [Late].
void tell_of_end(Interpreter& interpreter, const char* event, std::uintptr_t word) {
  Runtime& runtime = runtime_of(interpreter);
  if (holds_gil(runtime)) return tell_listeners(interpreter, event, word);
  if (runtime.gate.closed()) return;
  auto* const late = new (std::nothrow)
      LateTrace{event, word, runtime.late_traces.load(std::memory_order_relaxed)};
  if (late == nullptr) return;
  while (!runtime.late_traces.compare_exchange_weak(late->next, late, std::memory_order_release,
                                                    std::memory_order_relaxed)) {
  }
  if (runtime.is_main) static_cast<void>(Py_AddPendingCall(tell_pending, &runtime));
}

// set_gpu_trace(): whether this interpreter is told of devices from now on.
PyObject* set_gpu_trace(PyObject* module, PyObject*) {
  return PyBool_FromLong(GpuTrace::set(runtime_of_module(module).tag) ? 1 : 0);
}

}  // namespace

PyMethodDef trace_functions[] = {
    {"set_gpu_trace", set_gpu_trace, METH_NOARGS, "set_gpu_trace() -> bool"},
    {nullptr, nullptr, 0, nullptr}};

void vtable::trace_gpu_event_creation(Interpreter& interpreter, Backend, std::uintptr_t event) {
  tell_listeners(interpreter, "event_creation", event);
}
void vtable::trace_gpu_event_deletion(Interpreter& interpreter, Backend, std::uintptr_t event) {
  tell_of_end(interpreter, "event_deletion", event);
}
void vtable::trace_gpu_event_record(Interpreter& interpreter, Backend, std::uintptr_t event,
                                    std::uintptr_t stream) {
  tell_listeners(interpreter, "event_record", event, stream);
}
void vtable::trace_gpu_event_wait(Interpreter& interpreter, Backend, std::uintptr_t event,
                                  std::uintptr_t stream) {
  tell_listeners(interpreter, "event_wait", event, stream);
}
void vtable::trace_gpu_memory_allocation(Interpreter& interpreter, Backend,
                                         std::uintptr_t address) {
  tell_listeners(interpreter, "memory_allocation", address);
}
void vtable::trace_gpu_memory_deallocation(Interpreter& interpreter, Backend,
                                           std::uintptr_t address) {
  tell_of_end(interpreter, "memory_deallocation", address);
}
void vtable::trace_gpu_stream_creation(Interpreter& interpreter, Backend, std::uintptr_t stream) {
  tell_listeners(interpreter, "stream_creation", stream);
}
void vtable::trace_gpu_device_synchronization(Interpreter& interpreter, Backend) {
  tell_listeners(interpreter, "device_synchronization");
}
void vtable::trace_gpu_stream_synchronization(Interpreter& interpreter, Backend,
                                              std::uintptr_t stream) {
  tell_listeners(interpreter, "stream_synchronization", stream);
}
void vtable::trace_gpu_event_synchronization(Interpreter& interpreter, Backend,
                                             std::uintptr_t event) {
  tell_listeners(interpreter, "event_synchronization", event);
}

}  // namespace opyard::python
