// runtime/gil.cpp: taking the GIL through the gate.
#include "runtime/gil.h"

#include "opyard/base/error.h"
#include "opyard/base/mutex.h"

namespace opyard::python {

constinit __thread PyThreadState* noted_thread_state __attribute__((tls_model("initial-exec"))) =
    nullptr;

void HoldGil::find_out(Runtime& runtime) {
  if (!runtime.gate.closed() || Py_IsInitialized() != 0) {
    if (holds_gil()) return;  // also the thread that is ending the interpreter
  }
  if (!runtime.gate.enter()) {
    fail(
        ErrorKind::InterpreterGone,
        "a Python kernel or object was needed, but the Python interpreter has ended; C++ operators "
        "still work");
  }
  assert_no_lock_held();
  state_ = in_python([] { return PyGILState_Ensure(); });
  runtime.gate.leave();
  taken_ = true;
  if (runtime.drops.pending()) runtime.drain_with_gil_held();
}

void HoldGil::release() {
  in_python([this] { PyGILState_Release(state_); });
}

}  // namespace opyard::python
