// runtime/gil.h: holding the GIL in a scope.
//
// HoldGil is for C++ code that may be called from anywhere: it finds out whether this thread
// holds the interpreter's GIL already, else passes the gate and takes it. It raises InterpreterGone
// if the gate is closed. ReleaseGil lets go of the GIL around long or blocking work in code that
// was called from Python. Either may wait for the GIL: see python/exit.h.
//
// [Interpreters] A thread that is in one interpreter, with its GIL or having let go of it, enters
// no other one: HoldGil raises InterpreterGone then, naming both. A thread that is in none is a
// guest: it gets a thread state of its own for the scope. LeaveInterpreter makes a guest of a
// thread for a scope, for what is no call, such as telling a listener: so thread states are
// swapped, and never nested.
//
// pybind11's guards are not used: their destructors may end the process at exit.
//
// Depends on: runtime/{runtime,exit}.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/detail/python/exit.h"

namespace opyard::python {

// What a thread knows of the interpreter that it is in.
struct ThreadNote {
  // The runtime and the thread state with which it came from Python into the innermost such scope,
  // or null. Believed only if the state is the current one as well: then it is this thread's,
  // which is still inside.
  Runtime* runtime = nullptr;
  PyThreadState* state = nullptr;
  // With which it let go of the GIL in the innermost ReleaseGil, or null.
  PyThreadState* released = nullptr;
  // Whether it has left its interpreter for a scope.
  bool is_outside = false;
};
// One for each extension module: opyard._C's is the one that is asked.
inline constinit __thread ThreadNote thread_note __attribute__((tls_model("initial-exec"))) = {};

// The thread state of the interpreter that this thread is in, also if it has let go of the GIL;
// null for a thread that is in none.
PyThreadState* own_thread_state() noexcept;
// Whether this thread is in the interpreter.
bool is_inside(const Runtime& runtime) noexcept;

class HoldGil {
 public:
  explicit HoldGil(Runtime& runtime) {
    if (thread_note.runtime != &runtime || thread_note.state != current_thread_state()) {
      find_out(runtime);
    }
  }
  HoldGil(const HoldGil&) = delete;
  HoldGil& operator=(const HoldGil&) = delete;
  ~HoldGil() {
    if (__builtin_expect(entered_ != nullptr, 0)) release();
  }

 private:
  void find_out(Runtime& runtime);
  void release();

  Runtime* entered_ = nullptr;  // if the GIL was taken
  PyThreadState* made_ = nullptr;
};

// A scope of code that Python called, with the GIL held. Inside, HoldGil finds that out by a
// comparison.
class CalledFromPython {
 public:
  explicit CalledFromPython(Runtime& runtime) noexcept
      : former_runtime_(thread_note.runtime), former_state_(thread_note.state) {
    thread_note.runtime = &runtime;
    thread_note.state = current_thread_state();
  }
  CalledFromPython(const CalledFromPython&) = delete;
  CalledFromPython& operator=(const CalledFromPython&) = delete;
  ~CalledFromPython() {
    thread_note.runtime = former_runtime_;
    thread_note.state = former_state_;
  }

 private:
  Runtime* const former_runtime_;
  PyThreadState* const former_state_;
};

class ReleaseGil {
 public:
  ReleaseGil() noexcept : state_(PyEval_SaveThread()), former_(thread_note.released) {
    thread_note.released = state_;
  }
  ReleaseGil(const ReleaseGil&) = delete;
  ReleaseGil& operator=(const ReleaseGil&) = delete;
  ~ReleaseGil() {
    thread_note.released = former_;
    in_python([this] { PyEval_RestoreThread(state_); });
  }

 private:
  PyThreadState* const state_;
  PyThreadState* const former_;
};

// Has kernels that are marked so, and opyard::without_gil(), release the GIL of this CPython; see
// opyard/interpreter/gil.h. For the life of the process, once or more often.
void offer_gil() noexcept;

// See [Interpreters]. Does nothing on a thread that is in this interpreter, or in none.
class LeaveInterpreter {
 public:
  explicit LeaveInterpreter(const Runtime& destination) noexcept;
  LeaveInterpreter(const LeaveInterpreter&) = delete;
  LeaveInterpreter& operator=(const LeaveInterpreter&) = delete;
  ~LeaveInterpreter();

 private:
  bool left_ = false;
  ThreadNote former_;
  PyThreadState* state_ = nullptr;  // where it held the GIL
};

}  // namespace opyard::python
