// runtime/runtime.cpp: the life of a runtime.
//
// [Life] _C's first import makes the runtime, and the interpreter's own dictionary keeps it for later
// ones. An atexit function of the interpreter closes it; a static destructor closes the gate too,
// for hosts that just exit. The runtime and its tag are never freed; an interpreter that is made
// later gets its own. In this version only the main interpreter is served, and there is one at a time,
// so code that has neither a tag nor a type at hand finds the live runtime through one atomic pointer.
#include "runtime/runtime.h"

#include "opyard/base/error.h"
#include "runtime/gil.h"
#include "runtime/left_work.h"
#include "runtime/types.h"
#include "runtime/warnings.h"

namespace opyard::python {
namespace {

constinit std::atomic<Runtime*> live{nullptr};

struct CloseAtExit {
  ~CloseAtExit() {
    if (Runtime* runtime = live.load()) runtime->gate.close();
  }
};

// Under this name the interpreter's dictionary has a capsule with the runtime.
constexpr const char* kKept = "opyard.runtime";

Runtime* find_kept() {
  PyObject* const kept = PyInterpreterState_GetDict(PyInterpreterState_Get());
  PyObject* const capsule = kept == nullptr ? nullptr : PyDict_GetItemString(kept, kKept);
  if (capsule == nullptr) return nullptr;
  return static_cast<Runtime*>(PyCapsule_GetPointer(capsule, kKept));
}

}  // namespace

Runtime& require_runtime(const InterpreterVTable& vtable) {
  // PyGILState_*, by which threads come in and find out whether they hold the GIL, knows the main
  // interpreter only: in another one a call of a Python kernel would wait for ever.
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    fail(ErrorKind::Unsupported,
         "opyard was imported by an interpreter that is not the main one of this process, and this "
         "version serves the main interpreter only");
  }
  if (Runtime* const kept = find_kept()) {
    OPYARD_CHECK(!kept->gate.closed(), Unsupported,
                 "opyard was imported while the Python interpreter is ending, after it was closed; "
                 "import it before, and keep it");
    return *kept;
  }
  static const CloseAtExit close_at_exit;
  static_cast<void>(close_at_exit);
  auto runtime = std::make_unique<Runtime>();
  runtime->tag = Interpreter::create(&vtable, runtime.get());
  // What is there is of a main interpreter that has ended, or of an import that failed.
  if (Runtime* const former = live.exchange(runtime.get())) {
    former->gate.close();
    former->tag->disarm();
  }
  return *runtime.release();  // never freed: tags lead to it
}

void keep_runtime(Runtime& runtime) {
  PyObject* const kept = PyInterpreterState_GetDict(PyInterpreterState_Get());
  OPYARD_CHECK(kept != nullptr, OutOfMemory, "the interpreter has no dictionary");
  const Owned capsule = checked(PyCapsule_New(&runtime, kKept, nullptr));
  if (PyDict_SetItemString(kept, kKept, capsule.get()) < 0) throw PythonErrorSet();
}

Runtime* find_runtime() noexcept { return live.load(std::memory_order_acquire); }

void close_runtime(Runtime& runtime) noexcept {
  closed_for_exit.store(true, std::memory_order_relaxed);
  runtime.gate.close();
  {
    const ReleaseGil release;
    runtime.gate.wait_until_quiet();
  }
  runtime.drain_with_gil_held();
}

[[gnu::noinline]] bool do_left_work() noexcept {
  const void* const border = __builtin_return_address(0);
  PyObject* const former = take_exception();
  if (Runtime* const runtime = find_runtime()) runtime->drain_with_gil_held();
  const bool fine = say_waiting_warnings(border);
  if (former == nullptr) return fine;
  if (!fine) PyErr_Clear();  // the call has failed already
  restore_exception(former);
  return false;
}

PyObject* require_hook(const Runtime& runtime, const char* name) {
  // Not PyDict_GetItemString(): it takes a failure, such as a lack of memory, for a missing name.
  const Owned key = checked(PyUnicode_FromString(name));
  PyObject* const hook =
      runtime.hooks == nullptr ? nullptr : PyDict_GetItemWithError(runtime.hooks, key.get());
  if (hook == nullptr) {
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    fail(ErrorKind::Internal, std::string("the package opyard gave no '") + name +
                                  "' to its extension module; is opyard._C imported on its own?");
  }
  return hook;
}

}  // namespace opyard::python
