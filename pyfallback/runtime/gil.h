// runtime/gil.h: holding the GIL in a scope.
//
// HoldGil is for C++ code that may be called from anywhere: it finds out whether this thread
// holds the GIL already, else passes the gate and takes it. It raises InterpreterGone where
// the gate is closed. ReleaseGil lets go of the GIL around long or blocking work in code that
// was called from Python. in_python() is for calls that run Python code.
//
// [Exit] While Python ends, CPython ends every other thread that waits for the GIL, by forced
// unwinding. On its way out of C++ that would run destructors that drop Python references, of
// which the thread no longer holds the GIL, and meet some that may not throw. So whoever may
// wait for the GIL catches it where it starts, and the thread sleeps for ever, as it does
// under CPython 3.14. It holds no lock of ours then: none is held while a GIL is taken.
//
// pybind11's guards are not used: their destructors may end the process at exit.
//
// Depends on: runtime/runtime.h, base/error.h.
#pragma once

#include "runtime/runtime.h"

#include <cxxabi.h>
#include <unistd.h>

#include <utility>

#include "opyard/base/error.h"

namespace opyard::python {

// Whether this thread holds the GIL of the main interpreter. Never blocks; false once Python
// is gone.
bool holds_gil() noexcept;

[[noreturn]] inline void sleep_for_ever() noexcept {
  for (;;) pause();
}

// Runs a body that may wait for the GIL. See [Exit].
template <typename Body>
OPYARD_CATCHES_FORCED_UNWIND decltype(auto) in_python(Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (abi::__forced_unwind&) {
    sleep_for_ever();
  }
}

class HoldGil {
 public:
  explicit HoldGil(Runtime& runtime);
  HoldGil(const HoldGil&) = delete;
  HoldGil& operator=(const HoldGil&) = delete;
  ~HoldGil();

 private:
  PyGILState_STATE state_ = PyGILState_UNLOCKED;
  bool taken_ = false;
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
