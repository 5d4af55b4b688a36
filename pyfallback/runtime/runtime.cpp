// runtime/runtime.cpp: Runtime: creation, use and end.
//
// [Life] _C's first import makes the runtime, and the interpreter's own dictionary keeps it for
// later ones. An atexit function of the interpreter closes it; a static destructor closes the gates
// too, for hosts that just exit. The dictionary is cleared when nothing of the interpreter can run
// any more: then the runtime ends, its tag is disarmed, and the registry forgets it. The dictionary
// also keeps the module, so that its types stay as long; the interpreter's last collection takes
// them. The runtime and its tag are never freed; an interpreter that is made later gets its own.
//
// Code that has neither a tag nor a type at hand finds its runtime through one atomic pointer, as
// long as one interpreter is served; if there are several, by its thread state.
#include "runtime/runtime.h"

#include <mutex>

#include "opyard/base/error.h"
#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/look_up.h"
#include "opyard/detail/python/stack_end.h"
#include "opyard/registry/registry.h"
#include "runtime/deferred_work.h"
#include "runtime/gil.h"
#include "runtime/hooks.h"
#include "runtime/types.h"
#include "runtime/warnings.h"

namespace opyard::python {
namespace {

// All there ever were, the newest first; and the one that is served, if there is one.
constinit std::atomic<Runtime*> newest_runtime{nullptr};
constinit std::atomic<Runtime*> only{nullptr};
// Guards `only`, and what is counted for it.
constinit std::mutex runtimes_mutex;

template <typename Visit>
void each_runtime(const Visit& visit) noexcept {
  for (Runtime* at = newest_runtime.load(std::memory_order_acquire); at != nullptr; at = at->older)
    visit(*at);
}

// The last one that lives stays the one that is served after its end, so that it can be said.
void count_runtimes() noexcept {
  const std::lock_guard lock(runtimes_mutex);
  int count = 0;
  Runtime* last = nullptr;
  each_runtime([&](Runtime& runtime) {
    if (runtime.interpreter.load() == nullptr) return;
    ++count;
    last = &runtime;
  });
  if (count > 1) may_have_several_states.store(true);
  if (count != 0) only.store(count == 1 ? last : nullptr, std::memory_order_release);
}

struct CloseAtExit {
  ~CloseAtExit() {
    each_runtime([](Runtime& runtime) { runtime.gate.close(); });
  }
};

// Under this name the interpreter's dictionary has a capsule with the runtime.
constexpr const char* kCapsuleName = "opyard.runtime";

Runtime* find_in_interpreter() {
  PyObject* const dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
  PyObject* const capsule = dict == nullptr ? nullptr : find_item(dict, kCapsuleName);
  if (capsule == nullptr) {
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    return nullptr;
  }
  return static_cast<Runtime*>(PyCapsule_GetPointer(capsule, kCapsuleName));
}

void end_runtime(PyObject* capsule) {
  Runtime& runtime = *static_cast<Runtime*>(PyCapsule_GetPointer(capsule, kCapsuleName));
  runtime.gate.close();
  runtime.tag->disarm();
  Registry::instance().leave(runtime.tag);
  runtime.interpreter.store(nullptr, std::memory_order_release);
  count_runtimes();
  Py_DECREF(runtime.module);
}

std::string interpreter_name(PyInterpreterState* interpreter) {
  // What runs, whose last number may be another one than that of the build: "3.11.2 (main, …".
  const std::string_view running = Py_GetVersion();
  const std::string name = "CPython " + std::string(running.substr(0, running.find(' ')));
  if (interpreter == PyInterpreterState_Main()) return name;
  return name + ", interpreter " + std::to_string(PyInterpreterState_GetID(interpreter));
}

}  // namespace

Runtime& require_runtime(const InterpreterVTable& vtable) {
  if (Runtime* const former = find_in_interpreter()) {
    OPYARD_CHECK(!former->gate.closed(), Unsupported,
                 "opyard was imported while the Python interpreter is ending, after it was closed; "
                 "import it before, and keep it");
    return *former;
  }
  static const CloseAtExit close_at_exit;
  static_cast<void>(close_at_exit);
  PyInterpreterState* const interpreter = PyInterpreterState_Get();
  auto runtime = std::make_unique<Runtime>();
  runtime->name = interpreter_name(interpreter);
  runtime->is_main = interpreter == PyInterpreterState_Main();
  runtime->tag = Interpreter::create(&vtable, runtime.get());
  runtime->interpreter.store(interpreter);
  // One that is found now was made by an import that failed.
  if (Runtime* const failed = find_runtime(interpreter)) {
    failed->gate.close();
    failed->tag->disarm();
    Registry::instance().leave(failed->tag);
    failed->interpreter.store(nullptr);
  }
  Registry::instance().join(runtime->tag);
  runtime->older = newest_runtime.load(std::memory_order_relaxed);
  while (!newest_runtime.compare_exchange_weak(runtime->older, runtime.get(),
                                               std::memory_order_acq_rel)) {
  }
  count_runtimes();
  return *runtime.release();  // never freed: tags lead to it
}

void keep_runtime(Runtime& runtime) {
  PyObject* const dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
  OPYARD_CHECK(dict != nullptr, OutOfMemory, "the interpreter has no dictionary");
  if (find_in_interpreter() != nullptr) return;
  const Owned capsule = checked(PyCapsule_New(&runtime, kCapsuleName, end_runtime));
  Py_INCREF(runtime.module);
  if (PyDict_SetItemString(dict, kCapsuleName, capsule.get()) < 0) throw PythonErrorSet();
}

Runtime* find_runtime(const PyInterpreterState* interpreter) noexcept {
  Runtime* found = nullptr;
  each_runtime([&](Runtime& runtime) {
    if (runtime.interpreter.load(std::memory_order_acquire) == interpreter) found = &runtime;
  });
  return found;
}

Runtime* find_runtime_by_id(std::int64_t id) noexcept {
  Runtime* found = nullptr;
  each_runtime([&](Runtime& runtime) {
    PyInterpreterState* const interpreter = runtime.interpreter.load(std::memory_order_acquire);
    if (interpreter != nullptr && PyInterpreterState_GetID(interpreter) == id) found = &runtime;
  });
  return found;
}

Runtime* find_runtime() noexcept {
  if (Runtime* const one = only.load(std::memory_order_acquire)) return one;
  if (PyThreadState* const state = own_thread_state()) {
    return find_runtime(PyThreadState_GetInterpreter(state));
  }
  Runtime* first = nullptr;
  each_runtime([&](Runtime& runtime) {
    if (runtime.interpreter.load() != nullptr) first = &runtime;
  });
  return first;
}

bool close_runtime(Runtime& runtime) noexcept {
  if (runtime.is_main) {
    closed_for_exit.store(true, std::memory_order_relaxed);
    ending_thread.store(PyThread_get_thread_ident());
    ending_state.store(PyThreadState_Get());
  }
  runtime.gate.close();
  // An interpreter that is left over ends while Python itself does, on another state than the one
  // that ends it: a thread that gives the GIL back then does not get it again.
  if (!is_finalizing()) {
    const ReleaseGil release;
    runtime.gate.wait_until_quiet();
    // A program does not hang for a kernel that never returns.
    runtime.gate.wait_until_empty(std::chrono::milliseconds(runtime.is_main ? 100 : 2000));
  }
  runtime.drain_with_gil_held();
  bool last = true;
  each_runtime([&](const Runtime& other) {
    if (other.interpreter.load() != nullptr && !other.gate.closed()) last = false;
  });
  return last;
}

void prepare_type_versions(Runtime& runtime) {
  if (!kTypeTagsComeAgain || runtime.counted_type != nullptr) return;
  PyType_Slot slots[] = {{0, nullptr}};
  PyType_Spec spec{"opyard._C._Counted", 0, 0, Py_TPFLAGS_DEFAULT, slots};
  runtime.counted_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (runtime.counted_type == nullptr) throw PythonErrorSet();
}

bool count_types_anew(Runtime& runtime) noexcept {
  if (runtime.counted_type == nullptr) return false;  // the module has ended
  lookup_on_type(runtime.counted_type, runtime.del_name);
  ++runtime.counted_anew;
  return tag_of_type(runtime.counted_type) != 0;
}

[[gnu::noinline]] bool do_deferred_work() noexcept {
  return do_deferred_work(find_border_frame(__builtin_return_address(0)));
}

bool do_deferred_work(std::uintptr_t frame) noexcept {
  PyObject* const former = take_exception();
  if (Runtime* const runtime = find_runtime()) runtime->drain_with_gil_held();
  const bool fine = say_waiting_warnings(frame);
  if (former == nullptr) return fine;
  if (!fine) clear_or_report(PyExc_Warning);  // the call has failed already
  restore_exception(former);
  return false;
}

PyObject* require_hook(const Runtime& runtime, const char* name) {
  if (is_stack_at_its_end()) throw PythonErrorSet();  // the hook is called next
  PyObject* const hook = runtime.hooks == nullptr ? nullptr : find_item(runtime.hooks, name);
  if (hook == nullptr) {
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    fail(ErrorKind::Internal, std::string("the package opyard gave no '") + name +
                                  "' to its extension module; is opyard._C imported on its own?");
  }
  return hook;
}

}  // namespace opyard::python
