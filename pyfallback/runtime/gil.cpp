// runtime/gil.cpp: taking the GIL through the gate.
#include "runtime/gil.h"

#include <chrono>
#include <cstdint>
#include <new>

#include "opyard/base/error.h"
#include "opyard/detail/base/mutex.h"
#include "opyard/detail/interpreter/gil_wait.h"
#include "opyard/interpreter/gil.h"
#include "opyard/interpreter/interruption.h"
#include "runtime/errors.h"

namespace opyard::python {
namespace {

[[noreturn]] OPYARD_COLD void refuse_other(const Runtime& wanted, PyThreadState* state) {
  const Runtime* const own = find_runtime(PyThreadState_GetInterpreter(state));
  fail(
      ErrorKind::InterpreterGone,
      "a Python kernel or object of interpreter " + wanted.name +
          " was needed on a thread that is in interpreter " +
          (own == nullptr ? "(one that has not imported opyard)" : own->name) +
          ", and no call changes interpreter; register the kernel there, too, or pass t.alias() to "
          "get an untagged tensor on the same storage");
}

// The state of a thread that does not hold a GIL. See [Interpreters].
PyThreadState* detached_thread_state() noexcept {
  if (thread_note.is_outside) return nullptr;
  if (thread_note.released != nullptr) return thread_note.released;
  if (!kKnowsLastThreadState && thread_note.state != nullptr) return thread_note.state;
  return known_thread_state();
}

// [Kernels] What ReleaseGil does in one scope, in two functions. The note's former state is null
// or, if a scope further out has released the GIL and it was taken again since, this thread's own
// one as well: a bit of the pointer says which.
constexpr std::uintptr_t kWasReleased = 1;

void* release_for_kernel() {
  if (attached_thread_state() == nullptr) return nullptr;
  const bool was_released = thread_note.released != nullptr;
  PyThreadState* const state = PyEval_SaveThread();
  thread_note.released = state;
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(state) |
                                 (was_released ? kWasReleased : 0));
}

// Once the program ends, only the thread that ends it returns to Python. Any other would go on with
// the error that a kernel in Python was refused with meanwhile, and print it.
OPYARD_COLD void sleep_unless_ending(PyThreadState* state) noexcept {
  if (ending_thread.load() == PyThread_get_thread_ident()) return;
  // In this order: when it ends for good, the state may be gone.
  if (is_finalizing() || PyThreadState_GetInterpreter(state) == PyInterpreterState_Main()) {
    sleep_for_ever();
  }
}

void retake_for_kernel(void* released) {
  const auto word = reinterpret_cast<std::uintptr_t>(released);
  auto* const state = reinterpret_cast<PyThreadState*>(word & ~kWasReleased);
  if (closed_for_exit.load(std::memory_order_relaxed)) sleep_unless_ending(state);
  thread_note.released = (word & kWasReleased) != 0 ? state : nullptr;
  const GilWait wait;
  in_python([state] { PyEval_RestoreThread(state); });
}

constexpr GilFunctions kGilFunctions = {release_for_kernel, retake_for_kernel};

// [Interruptions] A long loop of C++ looks for signals, as CPython does between two instructions,
// and lets other threads run now and then, so that the main thread gets to see a signal during a
// loop on another one. CPython does not say that a thread waits for the GIL; so a clock says when
// to give it up, and a count when to read the clock (20 ns, a check for signals 4).
using Clock = std::chrono::steady_clock;
// Twice CPython's: a thread that waits asks for the GIL once it has seen no change of it for 5 ms,
// and is only then sure to get it.
constexpr Clock::duration kSwitchInterval = std::chrono::milliseconds(10);
constexpr int kChecksPerReading = 64;

constinit thread_local int checks_left = kChecksPerReading;
constinit thread_local Clock::time_point last_switch;

OPYARD_COLD void let_others_run() {
  checks_left = kChecksPerReading;
  const Clock::time_point now = Clock::now();
  if (now - last_switch < kSwitchInterval) return;
  retake_for_kernel(release_for_kernel());
  last_switch = Clock::now();
}

void check_for_interruption() {
  PyThreadState* const state = current_thread_state();
  const bool inside = state != nullptr && thread_note.state == state;
  if (!inside && attached_thread_state() == nullptr) return;
  Runtime* const runtime = inside ? thread_note.runtime : find_runtime();
  if (runtime == nullptr || PyErr_Occurred() != nullptr) return;
  if (PyErr_CheckSignals() < 0) throw_python_error(*runtime);
  if (--checks_left <= 0) let_others_run();
}

}  // namespace

void offer_gil() noexcept {
  set_gil_functions(&kGilFunctions);
  interruption_check.store(&check_for_interruption, std::memory_order_release);
}

PyThreadState* own_thread_state() noexcept {
  PyThreadState* const attached = attached_thread_state();
  return attached != nullptr ? attached : detached_thread_state();
}

bool is_inside(const Runtime& runtime) noexcept {
  PyThreadState* const state = own_thread_state();
  return state != nullptr &&
         PyThreadState_GetInterpreter(state) == runtime.interpreter.load(std::memory_order_acquire);
}

void HoldGil::find_out(Runtime& runtime) {
  if (holds_gil(runtime)) return;  // also the thread that is ending the interpreter
  PyThreadState* own =
      runtime.gate.closed() && Py_IsInitialized() == 0 ? nullptr : own_thread_state();
  PyInterpreterState* const wanted = runtime.interpreter.load(std::memory_order_acquire);
  const bool gone = wanted == nullptr || !runtime.gate.enter();
  if (gone) {
    fail(
        ErrorKind::InterpreterGone,
        "a Python kernel or object was needed, but the Python interpreter has ended; C++ operators "
        "still work");
  }
  if (own != nullptr && PyThreadState_GetInterpreter(own) != wanted) {
    runtime.gate.leave();
    refuse_other(runtime, own);
  }
  assert_no_lock_held();
  if (own == nullptr) {
    made_ = own = PyThreadState_New(wanted);
    if (own == nullptr) {
      runtime.gate.leave();
      throw std::bad_alloc();
    }
    runtime.gate.count_guest(+1);
  }
  {
    const GilWait wait;
    in_python([&] { PyEval_RestoreThread(own); });
  }
  runtime.gate.leave();
  entered_ = &runtime;
  if (runtime.drops.pending()) runtime.drain_with_gil_held();
}

void HoldGil::release() {
  if (made_ == nullptr) {
    PyEval_SaveThread();
    return;
  }
  in_python([this] { PyThreadState_Clear(made_); });
  PyThreadState_DeleteCurrent();
  entered_->gate.count_guest(-1);
}

LeaveInterpreter::LeaveInterpreter(const Runtime& destination) noexcept {
  PyThreadState* const own = own_thread_state();
  if (own == nullptr || PyThreadState_GetInterpreter(own) == destination.interpreter.load()) return;
  left_ = true;
  former_ = thread_note;
  thread_note = ThreadNote();
  thread_note.is_outside = true;
  if (attached_thread_state() != nullptr) state_ = PyEval_SaveThread();
}

LeaveInterpreter::~LeaveInterpreter() {
  if (!left_) return;
  thread_note = former_;
  if (state_ != nullptr) in_python([this] { PyEval_RestoreThread(state_); });
}

}  // namespace opyard::python
