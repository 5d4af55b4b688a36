// runtime/gil.h: holding the GIL in a scope.
//
// HoldGil is for C++ code that may be called from anywhere: it finds out whether this thread
// holds the GIL already, else passes the gate and takes it. It raises InterpreterGone where
// the gate is closed. ReleaseGil lets go of the GIL around long or blocking work in code that
// was called from Python. Either may wait for the GIL: see runtime/exit.h.
//
// pybind11's guards are not used: their destructors may end the process at exit.
//
// Depends on: runtime/{runtime,exit}.h.
#pragma once

#include "runtime/runtime.h"

#include "runtime/exit.h"

namespace opyard::python {

// The thread state with which this thread came from Python into the innermost such scope, or null.
// Believed only where it is the current one as well: then it is this thread's, which is still inside.
extern __thread PyThreadState* noted_thread_state __attribute__((tls_model("initial-exec")));

class HoldGil {
 public:
  explicit HoldGil(Runtime& runtime) {
    PyThreadState* const noted = noted_thread_state;
    if (noted == nullptr || noted != current_thread_state()) find_out(runtime);
  }
  HoldGil(const HoldGil&) = delete;
  HoldGil& operator=(const HoldGil&) = delete;
  ~HoldGil() {
    if (__builtin_expect(taken_, 0)) release();
  }

 private:
  void find_out(Runtime& runtime);
  void release();

  PyGILState_STATE state_ = PyGILState_UNLOCKED;
  bool taken_ = false;
};

// A scope of code that Python called, with the GIL held. Inside, HoldGil finds that out by a comparison.
class CalledFromPython {
 public:
  CalledFromPython() noexcept : former_(noted_thread_state) {
    noted_thread_state = current_thread_state();
  }
  CalledFromPython(const CalledFromPython&) = delete;
  CalledFromPython& operator=(const CalledFromPython&) = delete;
  ~CalledFromPython() { noted_thread_state = former_; }

 private:
  PyThreadState* const former_;
};

class ReleaseGil {
 public:
  ReleaseGil() noexcept : state_(PyEval_SaveThread()) {}
  ReleaseGil(const ReleaseGil&) = delete;
  ReleaseGil& operator=(const ReleaseGil&) = delete;
  ~ReleaseGil() {
    in_python([this] { PyEval_RestoreThread(state_); });
  }

 private:
  PyThreadState* const state_;
};

}  // namespace opyard::python
