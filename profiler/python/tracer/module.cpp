// tracer/module.cpp: the extension module opyard._tracer, which opyard.profiler loads.
//
// It joins the profiler's library by a source, "python", so that a session that C++ starts captures
// Python, too. One interpreter is captured at a time: the one whose thread starts the session.
#include "opyard/detail/python/python.h"

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "opyard/detail/profiler/files.h"
#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/look_up.h"
#include "opyard/profiler/futures.h"
#include "opyard/profiler/names.h"
#include "opyard/profiler/ring.h"
#include "opyard/profiler/session.h"
#include "opyard/profiler/stream.h"
#include "sampler/sampler_module.h"
#include "tracer/border.h"
#include "tracer/collections.h"
#include "tracer/greenlets.h"
#include "tracer/observers.h"
#include "tracer/profile_object.h"
#include "tracer/programs.h"
#include "tracer/text.h"
#include "tracer/tracer.h"

namespace opyard::python {

void set_tracer_error(const Error& error) {
  const CarriedException* const carried = error.carried().get();
  if (carried != nullptr && carried->restore_with_lock_held()) return;
  PyObject* type = PyExc_RuntimeError;
  switch (error.kind()) {
#define OPYARD_ERROR_KIND(kind, python, meaning) \
  case ErrorKind::kind:                          \
    type = PyExc_##python;                       \
    break;
#include "opyard/base/error_kinds.def"
#undef OPYARD_ERROR_KIND
  }
  PyErr_SetString(type, error.what());
}

namespace {

struct ModuleState {
  std::unique_ptr<Tracer> tracer;
  std::unique_ptr<profiler::Session> session;
  std::shared_ptr<profiler::Ring> ring;
  PyTypeObject* profile_type = nullptr;
};

ModuleState& state_of(PyObject* module) {
  return **static_cast<ModuleState**>(PyModule_GetState(module));
}

constexpr const char* kCapsuleName = "opyard.tracer";

// The tracer of the interpreter that this thread is in; null if it has none.
Tracer* find_tracer() {
  PyObject* const dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
  if (dict == nullptr) return nullptr;
  PyObject* const capsule = find_item(dict, kCapsuleName);
  if (capsule == nullptr && PyErr_Occurred() != nullptr) throw PythonErrorSet();
  return capsule == nullptr ? nullptr
                            : static_cast<Tracer*>(PyCapsule_GetPointer(capsule, kCapsuleName));
}

void keep_tracer(Tracer& tracer) {
  PyObject* const dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
  if (dict == nullptr) throw std::bad_alloc();
  PyObject* const capsule = checked_new(PyCapsule_New(&tracer, kCapsuleName, nullptr));
  const int failed = PyDict_SetItemString(dict, kCapsuleName, capsule);
  Py_DECREF(capsule);
  if (failed != 0) throw PythonErrorSet();
}

// The tracer that captures, of whichever interpreter.
Tracer* capturing_tracer = nullptr;

bool wants_python(const profiler::SessionOptions& options) { return options.python; }

// Calls of functions whose lines are timed that are open when that begins.
void find_open_lines(Tracer& tracer) {
  if (tracer.lines.chosen().empty()) return;
  const PauseCollector pause;
  tracer.lines.find_open_calls(tracer.codes);
  follow_all_lines(tracer);
}

void start_python(profiler::Window& window, const profiler::SessionOptions& options) {
  OPYARD_CHECK(holds_gil(), Unsupported,
               "a profile with Python's calls starts on a thread that holds the GIL; take it, or "
               "start the profile without them");
  Tracer* const tracer = find_tracer();
  OPYARD_CHECK(tracer != nullptr, Unsupported,
               "this interpreter has not imported opyard.profiler, which captures its calls");
  tracer->set_options(options);
  tracer->replaced.clear();
  tracer->others.clear();
  add_other_interpreters(tracer->others);
  tracer->set_within = tracer->unseen = tracer->taken = 0;
  prepare_hooks(*tracer);
  try {
    if (tracer->collections)
      watch_collections(tracer->on_collection);  // its import is not captured
    add_start_stacks(*tracer, window, true);
    tracer->active = true;
    tracer->choose_path();
    start_hooks(*tracer);
    for (const auto& [code, function] : tracer->lines.chosen()) start_lines(*tracer, code);
    find_open_lines(*tracer);
    if (options.calls.hottest_lines) {
      tracer->hottest.start(*tracer, {options.calls.libraries, options.calls.own});
    }
    watch_greenlets();
  } catch (...) {
    PyObject* const exception = take_exception();
    tracer->active = false;
    tracer->interrupted.forget();
    tracer->choose_path();
    stop_lines(*tracer);
    stop_hooks(*tracer);
    tracer->lines.forget(tracer->codes);
    if (tracer->collections) forget_collections(tracer->on_collection);
    tracer->at_entry.forget(tracer->codes);
    if (exception != nullptr) restore_exception(exception);
    throw;
  }
  capturing_tracer = tracer;
}

// Without memory they are not in the profile.
void report_lines(Tracer& tracer, profiler::SourceReport& report) noexcept {
  try {
    tracer.lines.report(report);
  } catch (const std::bad_alloc&) {
    report.lines.clear();
  }
  tracer.lines.forget(tracer.codes);
}

// Without memory such calls are open at the profile's end.
void note_lost_ends(Tracer& tracer, profiler::SourceReport& report) noexcept {
  try {
    tracer.interrupted.note_lost_ends(tracer.codes, report);
  } catch (const PythonErrorSet&) {
    clear_or_report(PyExc_Exception);
  } catch (const std::bad_alloc&) {
  }
}

void stop_python(profiler::SourceReport& report) {
  Tracer& tracer = *std::exchange(capturing_tracer, nullptr);
  tracer.hottest.stop();
  stop_lines(tracer);
  stop_hooks(tracer);
  forget_greenlets();
  note_lost_ends(tracer, report);
  tracer.active = false;
  tracer.interrupted.forget();
  tracer.choose_path();
  if (tracer.collections) forget_collections(tracer.on_collection);
  report_lines(tracer, report);
  tracer.callables.forget();
  tracer.instances.forget();
  tracer.coroutines.forget();
  tracer.at_entry.forget(tracer.codes);
  add_other_interpreters(tracer.others);
  const std::pair<const char*, std::uint64_t> notes[] = {
      {"interpreters whose Python calls were not captured", tracer.others.size()},
      {"threads whose profile function a program replaced", tracer.replaced.size()},
      {"calls of sys.setprofile", tracer.set_within},
      {"events of sys.monitoring that a program took", tracer.taken},
      {"threads that were not captured", tracer.unseen}};
  report.thread_names.assign(tracer.ended_threads.begin(), tracer.ended_threads.end());
  // A ring that is on has what they did.
  if (!profiler::Ring::is_on()) tracer.ended_threads.clear();
  for (const auto& [note, number] : notes) {
    if (number != 0) report.notes.emplace_back(note, number);
  }
}

// For a ring. Nothing if a profile captures another interpreter meanwhile.
void describe_python(profiler::Window& window, profiler::SourceReport& report) {
  Tracer* const tracer = capturing_tracer;
  if (tracer == nullptr || !holds_gil() || find_tracer() != tracer) return;
  add_start_stacks(*tracer, window);
  report.thread_names.assign(tracer->ended_threads.begin(), tracer->ended_threads.end());
}

constexpr profiler::Source kPythonSource{"python", wants_python, start_python, stop_python,
                                         describe_python};

// (python, c_calls, instances, collections, operators, shapes, memory, caller_lines, max_depth,
// min_duration_ns, include, exclude, lines=(), hottest=False, libraries=(), own=())
profiler::SessionOptions options_of(PyObject* args) {
  profiler::SessionOptions options;
  int flags[8] = {};
  unsigned max_depth = 0;
  unsigned long long min_duration = 0;
  PyObject* include = nullptr;
  PyObject* exclude = nullptr;
  PyObject* lines = nullptr;
  int hottest = 0;
  PyObject* libraries = nullptr;
  PyObject* own = nullptr;
  if (PyArg_ParseTuple(args, "ppppppppIKO!O!|O!pO!O!", &flags[0], &flags[1], &flags[2], &flags[3],
                       &flags[4], &flags[5], &flags[6], &flags[7], &max_depth, &min_duration,
                       &PyTuple_Type, &include, &PyTuple_Type, &exclude, &PyTuple_Type, &lines,
                       &hottest, &PyTuple_Type, &libraries, &PyTuple_Type, &own) == 0) {
    throw PythonErrorSet();
  }
  options.calls.caller_lines = flags[7] != 0;
  options.calls.max_depth = max_depth;
  options.calls.min_duration_ns = min_duration;
  options.calls.include = texts_of(include);
  options.calls.exclude = texts_of(exclude);
  if (lines != nullptr) options.calls.lines = texts_of(lines);
  options.calls.hottest_lines = hottest != 0;
  if (libraries != nullptr) options.calls.libraries = texts_of(libraries);
  if (own != nullptr) options.calls.own = texts_of(own);
  options.python = flags[0] != 0;
  options.c_calls = flags[1] != 0;
  options.instances = flags[2] != 0;
  options.collections = flags[3] != 0;
  options.operators = options.instructions = flags[4] != 0;
  options.devices = options.gil_waits = flags[4] != 0;
  options.shapes = flags[5] != 0;
  options.memory = flags[6] != 0;
  return options;
}

// start(…), with the options above.
PyObject* start(PyObject* module, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    state_of(module).session = std::make_unique<profiler::Session>(options_of(args));
    Py_RETURN_NONE;
  });
}

// start_in(options, folder, program): what is captured is written to the folder, too.
PyObject* start_in(PyObject* module, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    PyObject* given = nullptr;
    PyObject* folder = nullptr;
    PyObject* program = nullptr;
    if (PyArg_ParseTuple(args, "O!OU", &PyTuple_Type, &given, &folder, &program) == 0) {
      throw PythonErrorSet();
    }
    profiler::SessionOptions options = options_of(given);
    options.folder = path_of(folder);
    options.program = text_of(program);
    state_of(module).session = std::make_unique<profiler::Session>(options);
    Py_RETURN_NONE;
  });
}

// begin_child(): in the child of a fork; whether its capture is written to a folder.
PyObject* begin_child(PyObject* module, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    Tracer& tracer = *state_of(module).tracer;
    const bool keeps = tracer.active && profiler::writes_files();
    if (keeps) {
      profiler::Window window;
      add_start_stacks(tracer, window);
      profiler::write_start_stacks(window.start_stacks());
    }
    return PyBool_FromLong(keeps ? 1 : 0);
  });
}

// watch_programs(): hears of other programs that are started, until the process ends.
PyObject* watch_started(PyObject*, PyObject*) {
  if (!watch_programs()) return nullptr;
  Py_RETURN_NONE;
}
PyObject* count_started(PyObject*, PyObject*) {
  count_program();
  Py_RETURN_NONE;
}
PyObject* count_of_started(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(programs_started());
}

// recover(folder) -> Profile, of all processes that have written to it
PyObject* recover(PyObject* module, PyObject* argument) {
  return enter_tracer([&]() -> PyObject* {
    return recovered_profile(state_of(module).profile_type, path_of(argument));
  });
}

// stop() -> Profile
PyObject* stop(PyObject* module, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    ModuleState& state = state_of(module);
    // Taken out first: end() waits without the GIL, and one thread alone may end it.
    std::unique_ptr<profiler::Session> session = std::move(state.session);
    OPYARD_CHECK(session != nullptr, BadRegistration,
                 "no profile of this interpreter is active; start one before stopping it");
    profiler::Capture capture;
    try {
      capture = session->end();
    } catch (...) {
      state.session = std::move(session);  // it goes on
      throw;
    }
    return make_profile(state.profile_type, std::move(capture));
  });
}

// start_ring(options, bytes, ns)
PyObject* start_ring(PyObject* module, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    PyObject* options = nullptr;
    unsigned long long bytes = 0;
    unsigned long long ns = 0;
    if (PyArg_ParseTuple(args, "O!KK", &PyTuple_Type, &options, &bytes, &ns) == 0) {
      throw PythonErrorSet();
    }
    const profiler::RingBounds bounds{bytes, ns};
    state_of(module).ring = std::make_shared<profiler::Ring>(options_of(options), bounds);
    Py_RETURN_NONE;
  });
}

// Shared, since another thread may stop it while this one waits for its turn.
std::shared_ptr<profiler::Ring> ring_of(PyObject* module) {
  std::shared_ptr<profiler::Ring> ring = state_of(module).ring;
  OPYARD_CHECK(ring != nullptr, BadRegistration,
               "no flight recorder of this interpreter is on; start it first");
  return ring;
}

// dump_ring() -> Profile
PyObject* dump_ring(PyObject* module, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    return make_profile(state_of(module).profile_type, ring_of(module)->dump());
  });
}

PyObject* stop_ring(PyObject* module, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    const std::shared_ptr<profiler::Ring> ring = ring_of(module);
    ring->end();
    std::shared_ptr<profiler::Ring>& known = state_of(module).ring;
    if (known == ring) known.reset();
    Py_RETURN_NONE;
  });
}

PyObject* is_active(PyObject*, PyObject*) {
  return PyBool_FromLong(profiler::Session::is_active() ? 1 : 0);
}

// renew(): takes back the places that other profile functions took.
PyObject* renew(PyObject* module, PyObject*) {
  Tracer& tracer = *state_of(module).tracer;
  if (tracer.active) renew_hooks(tracer);
  Py_RETURN_NONE;
}

// hide(code): the frames of this code object are not captured.
PyObject* hide(PyObject* module, PyObject* code) {
  return enter_tracer([&]() -> PyObject* {
    if (!PyCode_Check(code)) {
      PyErr_Format(PyExc_TypeError, "hide() takes a code object, not %s", Py_TYPE(code)->tp_name);
      throw PythonErrorSet();
    }
    state_of(module).tracer->codes.set_flag(code, CodeFlag::Hidden);
    Py_RETURN_NONE;
  });
}

std::uint32_t key_of_text(PyObject* text, const char* kind) {
  profiler::Name name;
  name.text = text_of(text);
  name.kind = kind;
  return profiler::add_name(std::move(name));
}

// annotation(text) -> key
PyObject* annotation(PyObject*, PyObject* text) {
  return enter_tracer(
      [&]() -> PyObject* { return PyLong_FromUnsignedLong(key_of_text(text, "annotation")); });
}

// show_instances(code, label, is_optimizer, describe)
PyObject* show_instances(PyObject* module, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    PyObject* code = nullptr;
    PyObject* label = nullptr;
    int is_optimizer = 0;
    PyObject* describe = nullptr;
    if (PyArg_ParseTuple(args, "O!UpO", &PyCode_Type, &code, &label, &is_optimizer, &describe) ==
        0) {
      throw PythonErrorSet();
    }
    Tracer& tracer = *state_of(module).tracer;
    tracer.codes.set_flag(code, is_optimizer != 0 ? CodeFlag::Optimizer : CodeFlag::Module);
    tracer.instances.show(tracer.codes.require(code).key(), text_of(label), describe);
    Py_RETURN_NONE;
  });
}

// begin_range(name, arguments or None, key) -> the key, for exit() and the next time. While nothing
// captures, the key that was passed is returned, so that a name that is used once is not stored.
PyObject* begin_range(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count == 3 && !profiler::Session::is_active()) return Py_NewRef(args[2]);
  return enter_tracer([&]() -> PyObject* {
    if (count != 3) {
      PyErr_Format(PyExc_TypeError, "begin_range() takes a name, arguments and a key, not %zd",
                   count);
      throw PythonErrorSet();
    }
    unsigned long key = PyLong_AsUnsignedLong(args[2]);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    const bool is_known = key != 0;
    if (!is_known) key = key_of_text(args[0], "annotation");
    const auto enter = profiler::enter_of(profiler::SpanKind::Annotation);
    if (args[1] == Py_None) {
      profiler::append_event(enter, std::uint32_t(key));
    } else if (profiler::Stream* const stream = profiler::Stream::current(); stream != nullptr) {
      const profiler::Payload behind{key_of_text(args[1], "arguments"), 0};
      stream->append(enter, std::uint32_t(key), 0, &behind, 1);
    }
    return is_known ? Py_NewRef(args[2]) : PyLong_FromUnsignedLong(key);
  });
}

// end_range(name, key), with the key that begin_range() gave. A range that began before a capture
// has a name in it, too.
PyObject* end_range(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count == 2 && !profiler::Session::is_active()) Py_RETURN_NONE;
  return enter_tracer([&]() -> PyObject* {
    if (count != 2) {
      PyErr_Format(PyExc_TypeError, "end_range() takes a name and a key, not %zd", count);
      throw PythonErrorSet();
    }
    unsigned long key = PyLong_AsUnsignedLong(args[1]);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    if (key == 0) key = key_of_text(args[0], "annotation");
    profiler::append_event(profiler::exit_of(profiler::SpanKind::Annotation), std::uint32_t(key));
    Py_RETURN_NONE;
  });
}

// enter(key), exit(key): of a range of the user's.
PyObject* mark_range(PyObject* key, profiler::SpanKind kind, bool is_exit) {
  const unsigned long number = PyLong_AsUnsignedLong(key);
  if (number == static_cast<unsigned long>(-1) && PyErr_Occurred() != nullptr) return nullptr;
  if (profiler::Session::is_active()) {
    profiler::append_event(is_exit ? profiler::exit_of(kind) : profiler::enter_of(kind),
                           std::uint32_t(number));
  }
  Py_RETURN_NONE;
}
PyObject* enter_range(PyObject*, PyObject* key) {
  return mark_range(key, profiler::SpanKind::Annotation, false);
}
PyObject* exit_range(PyObject*, PyObject* key) {
  return mark_range(key, profiler::SpanKind::Annotation, true);
}
PyObject* enter_step(PyObject*, PyObject* key) {
  return mark_range(key, profiler::SpanKind::Step, false);
}
PyObject* exit_step(PyObject*, PyObject* key) {
  return mark_range(key, profiler::SpanKind::Step, true);
}

// begin_future(name) -> number; end_future(name, number, …)
PyObject* begin_future(PyObject*, PyObject* name) {
  const unsigned long key = PyLong_AsUnsignedLong(name);
  if (key == static_cast<unsigned long>(-1) && PyErr_Occurred() != nullptr) return nullptr;
  return PyLong_FromUnsignedLongLong(profiler::begin_future(std::uint32_t(key)));
}
PyObject* end_future(PyObject*, PyObject* args) {
  unsigned key = 0;
  unsigned long long number = 0;
  PyObject* future = nullptr;
  if (PyArg_ParseTuple(args, "IK|O", &key, &number, &future) == 0) return nullptr;
  profiler::end_future(key, number);
  Py_RETURN_NONE;
}

// Of the calling convention METH_FASTCALL, as PyMethodDef keeps it.
PyCFunction fast(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef module_functions[] = {
    {"start", start, METH_VARARGS, "start(python, c_calls, …): begins a profile"},
    {"start_in", start_in, METH_VARARGS, "start_in(options, folder, program)"},
    {"begin_child", begin_child, METH_NOARGS, "begin_child() -> bool"},
    {"watch_programs", watch_started, METH_NOARGS, "watch_programs()"},
    {"count_program", count_started, METH_NOARGS, "count_program(): one was started"},
    {"programs_started", count_of_started, METH_NOARGS, "programs_started() -> int"},
    {"recover", recover, METH_O, "recover(folder) -> Profile"},
    {"stop", stop, METH_NOARGS, "stop() -> Profile"},
    {"start_ring", start_ring, METH_VARARGS, "start_ring(options, bytes, ns)"},
    {"dump_ring", dump_ring, METH_NOARGS, "dump_ring() -> Profile"},
    {"stop_ring", stop_ring, METH_NOARGS, "stop_ring()"},
    {"is_active", is_active, METH_NOARGS, "is_active() -> bool"},
    {"renew", renew, METH_NOARGS, "renew()"},
    {"hide", hide, METH_O, "hide(code)"},
    {"annotation", annotation, METH_O, "annotation(text) -> key"},
    {"begin_range", fast(begin_range), METH_FASTCALL, "begin_range(name, arguments, key) -> key"},
    {"end_range", fast(end_range), METH_FASTCALL, "end_range(name, key)"},
    {"enter", enter_range, METH_O, "enter(key)"},
    {"exit", exit_range, METH_O, "exit(key)"},
    {"enter_step", enter_step, METH_O, "enter_step(key)"},
    {"exit_step", exit_step, METH_O, "exit_step(key)"},
    {"begin_future", begin_future, METH_O, "begin_future(name) -> number"},
    {"end_future", end_future, METH_VARARGS, "end_future(name, number, future=None)"},
    {"show_instances", show_instances, METH_VARARGS,
     "show_instances(code, label, is_optimizer, describe)"},
    {nullptr, nullptr, 0, nullptr}};

int execute(PyObject* module) {
  return enter_tracer(-1, [&] {
    auto state = std::make_unique<ModuleState>();
    state->tracer = std::make_unique<Tracer>();
    state->tracer->codes.prepare();
    state->tracer->callables.hide(module_functions);
    for (PyMethodDef* const functions : {observer_functions, sampler_functions}) {
      if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet();
    }
    state->tracer->on_collection = checked_new(PyCFunction_New(&collection_callback, nullptr));
    state->tracer->hooks = make_hooks(module, *state->tracer);
    state->profile_type = make_profile_type(module);
    if (PyModule_AddType(module, state->profile_type) < 0) throw PythonErrorSet();
    keep_tracer(*state->tracer);
    profiler::register_source(&kPythonSource);
    *static_cast<ModuleState**>(PyModule_GetState(module)) = state.release();
    return 0;
  });
}

ModuleState** find_state(PyObject* module) {
  return static_cast<ModuleState**>(PyModule_GetState(module));
}

int traverse(PyObject* module, visitproc visit, void* arg) {
  ModuleState** const state = find_state(module);
  if (state != nullptr && *state != nullptr) Py_VISIT((*state)->profile_type);
  return 0;
}

int clear(PyObject* module) {
  ModuleState** const state = find_state(module);
  if (state != nullptr && *state != nullptr) Py_CLEAR((*state)->profile_type);
  return 0;
}

// The tracer stays: a thread may still hold one of its callbacks, and the next import of this
// module has its own.
void free_module(void* module) {
  clear(static_cast<PyObject*>(module));
  ModuleState** const state = find_state(static_cast<PyObject*>(module));
  if (state == nullptr || *state == nullptr) return;
  free_hooks(std::exchange((*state)->tracer->hooks, nullptr));
  Py_CLEAR((*state)->tracer->on_collection);
  static_cast<void>((*state)->tracer.release());
  delete std::exchange(*state, nullptr);
}

PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(execute)},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "opyard._tracer",
                          "The calls of Python, for opyard.profiler.",
                          sizeof(ModuleState*),
                          module_functions,
                          module_slots,
                          traverse,
                          clear,
                          free_module};

}  // namespace
}  // namespace opyard::python

extern "C" __attribute__((visibility("default"))) PyObject* PyInit__tracer() {
  return PyModuleDef_Init(&opyard::python::definition);
}
