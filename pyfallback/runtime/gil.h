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
