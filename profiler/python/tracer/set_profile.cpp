// tracer/set_profile.cpp: call capture by a profile function, on CPython 3.10 and 3.11.
//
// [Place] Each thread has one place for a profile function. If a program has put one there
// before us, we call it on with each event and put it back at the end. If a program takes the place
// while we capture, its function runs, as without us: that is noticed when a thread starts, at each
// step, and at the end, and counted. A call of sys.setprofile, or a cProfile that begins or ends,
// is noticed at once, and the main thread takes the places back as soon as it runs Python again:
// then both hear.
//
// [Saved and put back] What sys.getprofile() gives within a profile is our seat. If a program puts
// it back by sys.setprofile(), Python calls it like any object: it gives the place to our function
// again, or, if the profile has ended meanwhile, to whose it was before.
//
// [Short] Nearly every event is captured without a call of another function; whatever needs a look
// is handed on. See monitoring.cpp.
//
// [New threads] When `_thread.start_new_thread` returns, the state of the new thread is in the list
// already, and the thread waits for the GIL: so it is captured from its first frame on. A thread of
// C++ is captured as soon as it comes through Opyard's gate, which makes it a state; one that makes
// a state by itself is found when a thread starts, and whenever any thread begins a new block.
//
// [Lines] A trace function of ours is told of lines, as long as a call of a chosen function is the
// innermost of its thread: CPython would tell it of every line of every function. Whose function
// was there is told of all that ours is. Until the last such call has ended, the thread's profile
// function is one that looks what the innermost call is.
//
// [Audit] Python raises an audit event when a profile function is set. A hook of the program's that
// hears it may be Python, lets other threads run, and may refuse. So the event is raised once,
// before the threads are looked for.
//
// [Exceptions] Python sends no PyTrace_EXCEPTION to profile functions. A generator that is thrown
// into is entered.
#include "opyard/detail/python/python.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <thread>
#include <unordered_set>
#include <vector>

#include "opyard/detail/python/clear.h"
#include "opyard/profiler/gil_waits.h"
#include "opyard/profiler/stream.h"
#include "tracer/border.h"
#include "tracer/greenlets.h"
#include "tracer/tracer.h"

namespace opyard::python {
namespace {

using profiler::append_event;
using profiler::enter_of;
using profiler::exit_of;
using profiler::SpanKind;

// What a thread's place keeps for us: the tracer, and whose function was there.
struct Seat {
  PyObject_HEAD Tracer* tracer;
  Py_tracefunc other;
  PyObject* other_argument;  // a reference, or null
};

int on_event(PyObject* self, PyFrameObject* frame, int what, PyObject* argument);
int on_event_with_lines(PyObject* self, PyFrameObject* frame, int what, PyObject* argument);

bool is_ours(const PyThreadState* state) {
  return state->c_profilefunc == on_event || state->c_profilefunc == on_event_with_lines;
}

void free_seat(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Py_XDECREF(reinterpret_cast<Seat*>(self)->other_argument);
  type->tp_free(self);
  Py_DECREF(type);
}

constexpr const char* kEventNames[] = {"call",   "exception",   "line",     "return",
                                       "c_call", "c_exception", "c_return", "opcode"};
static_assert(PyTrace_CALL == 0 && PyTrace_C_EXCEPTION == 5 && PyTrace_OPCODE == 7);

int event_of_name(PyObject* name) {
  for (int what = 0; what <= PyTrace_OPCODE; ++what) {
    if (PyUnicode_CompareWithASCIIString(name, kEventNames[what]) == 0) return what;
  }
  return -1;
}

// See [Saved and put back].
PyObject* call_seat(PyObject* self, PyObject* args, PyObject* names) {
  Seat& seat = *reinterpret_cast<Seat*>(self);
  PyObject* frame = nullptr;
  PyObject* name = nullptr;
  PyObject* argument = nullptr;
  if (names != nullptr && PyDict_GET_SIZE(names) != 0) {
    PyErr_SetString(PyExc_TypeError, "a profile function takes (frame, event, argument)");
    return nullptr;
  }
  if (PyArg_ParseTuple(args, "O!UO", &PyFrame_Type, &frame, &name, &argument) == 0) return nullptr;
  PyThreadState* const state = PyThreadState_Get();
  const int what = event_of_name(name);
  if (state->c_profileobj != self || is_ours(state) || what < 0) Py_RETURN_NONE;
  Py_INCREF(self);  // this may be the last reference
  if (seat.tracer->active) {
    set_profile_function(state, on_event, self);
  } else {
    set_profile_function(state, seat.other, seat.other_argument);
  }
  const bool told =
      state->c_profilefunc == nullptr ||
      state->c_profilefunc(state->c_profileobj, reinterpret_cast<PyFrameObject*>(frame), what,
                           argument) == 0;
  Py_DECREF(self);
  if (!told) return nullptr;
  Py_RETURN_NONE;
}

PyType_Slot seat_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(free_seat)},
                            {Py_tp_call, reinterpret_cast<void*>(call_seat)},
                            {0, nullptr}};
PyType_Spec seat_spec = {"opyard._tracer.Seat", sizeof(Seat), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, seat_slots};

}  // namespace

struct Hooks {
  PyTypeObject* seat_type = nullptr;
  PyInterpreterState* interpreter = nullptr;
  // Of all threads in whose place no one was. A thread that is ending, and has given up its place,
  // may be given ours once more, and never gives it back: then it is this one that it keeps.
  Seat* empty_seat = nullptr;
  // Threads that had our function, by their state's number, but for those that come from C++ and
  // go: they may be any number.
  std::unordered_set<std::uint64_t> seated;

  bool was_seated(const PyThreadState* state) const { return seated.contains(state->id); }
};

namespace {

bool note_seated(Hooks& hooks, const PyThreadState* state) noexcept {
  try {
    hooks.seated.insert(state->id);
    return true;
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
    return false;
  }
}

// Null, with an exception set, if there is no memory.
Seat* new_seat(PyTypeObject* type, Tracer& tracer, Py_tracefunc other, PyObject* other_argument) {
  auto* const seat = PyObject_New(Seat, type);
  if (seat == nullptr) return nullptr;
  seat->tracer = &tracer;
  seat->other = other;
  seat->other_argument = other_argument;
  Py_XINCREF(other_argument);
  return seat;
}

// Puts our function in the place of a thread that is not ours yet. False, with an exception set, if
// there is no memory.
bool sit_down_unnoted(Tracer& tracer, PyThreadState* state) noexcept {
  const Hooks& hooks = *tracer.hooks;
  Seat* const seat =
      state->c_profilefunc == nullptr
          ? reinterpret_cast<Seat*>(Py_NewRef(hooks.empty_seat))
          : new_seat(hooks.seat_type, tracer, state->c_profilefunc, state->c_profileobj);
  if (seat == nullptr) return false;
  set_profile_function(state, on_event, reinterpret_cast<PyObject*>(seat));
  Py_DECREF(seat);
  return true;
}

bool sit_down(Tracer& tracer, PyThreadState* state) noexcept {
  return note_seated(*tracer.hooks, state) && sit_down_unnoted(tracer, state);
}

// The one that captures, of whichever interpreter; for threads that come through the gate.
std::atomic<Tracer*> listening{nullptr};

void sit_down_here() noexcept {
  Tracer* const tracer = listening.load(std::memory_order_acquire);
  PyThreadState* const state = PyThreadState_Get();
  if (tracer == nullptr || PyThreadState_GetInterpreter(state) != tracer->hooks->interpreter)
    return;
  if (state->c_profilefunc != nullptr || tracer->hooks->was_seated(state)) return;
  if (!sit_down_unnoted(*tracer, state)) clear_or_report(PyExc_Exception);
}

// The seat that a thread has, whether its place leads to our function or, put back, to Python's; or
// null.
Seat* find_seat(const Tracer& tracer, const PyThreadState* state) {
  PyObject* const object = state->c_profileobj;
  if (object == nullptr || Py_TYPE(object) != tracer.hooks->seat_type) return nullptr;
  return reinterpret_cast<Seat*>(object);
}

// CPython 3.11 puts the state of a thread that is new to it into the list, without the GIL, before
// it has filled it in: the next one in the list, and then the frame. That takes some nanoseconds.
void wait_until_made(PyThreadState* state) noexcept {
  while (__atomic_load_n(&state->cframe, __ATOMIC_ACQUIRE) == nullptr) std::this_thread::yield();
}

// The GIL must be held throughout, so that no thread ends meanwhile: neither the collector may run,
// nor anything else in Python. See [Audit].
template <typename Visit>
void each_state(const Visit& visit) {
  const PauseCollector pause;
  for (PyThreadState* state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
       state != nullptr; state = PyThreadState_Next(state)) {
    wait_until_made(state);
    visit(state);
  }
}

// On the main thread, between two instructions.
int renew_pending(void* tracer) {
  if (static_cast<Tracer*>(tracer)->active) renew_hooks(*static_cast<Tracer*>(tracer));
  return 0;
}

// What is open on this thread, from the outermost frame on.
std::vector<Interrupted::Frame> open_frames(Tracer& tracer, PyFrameObject* innermost) {
  std::vector<Interrupted::Frame> found;
  PyFrameObject* frame = innermost;
  Py_INCREF(frame);
  for (std::uint32_t depth = depth_of(frame); frame != nullptr; --depth) {
    PyObject* const code = code_of(frame);
    CodeWord word = tracer.word(code);
    if (!tracer.is_left_out(word, code)) {
      found.push_back({depth, false, word.key(), tracer.kind_of(word)});
    }
    Py_SETREF(frame, PyFrame_GetBack(frame));
  }
  clear_or_report(PyExc_MemoryError);  // frames that cannot be had count as open
  std::reverse(found.begin(), found.end());
  return found;
}

// The program is about to put another function in our place: until we are back, its calls are
// without events. See [Replaced].
void notice_replacement(Tracer& tracer, PyFrameObject* frame) {
  ++tracer.set_within;
  try {
    const PyThreadState* const state = PyThreadState_Get();
    tracer.interrupted.add({state->id, std::uint64_t(state->thread_id), native_id_of(state),
                            open_frames(tracer, frame), true});
  } catch (const std::bad_alloc&) {  // what ends meanwhile stays open
  }
  tracer.choose_path();
  static_cast<void>(Py_AddPendingCall(renew_pending, &tracer));  // full: then at the next occasion
}

void capture_frame(Tracer& tracer, PyFrameObject* frame, bool is_exit) noexcept {
  PyObject* const code = code_of(frame);
  const CodeWord word = tracer.word(code);
  if (tracer.is_plain(word)) {
    append_event(is_exit ? exit_of(SpanKind::Python) : enter_of(SpanKind::Python), word.key());
  } else {
    tracer.capture_special(word, code, frame, is_exit);
  }
}

void profile_call(Tracer& tracer, PyFrameObject* frame, CallableKey found, bool is_exit) noexcept {
  if (tracer.looks_at_calls || found.effect == CallEffect::RunsCode) {
    tracer.capture_call(found, code_of(frame), frame, is_exit);
  } else if (found.key != 0) {
    append_event(is_exit ? exit_of(found.kind) : enter_of(found.kind), found.key);
  }
}

// Of a function in C. Whether it is about to take our place: then its end is not told, and comes
// right behind its begin, so that it is not around what follows.
bool capture_function(Tracer& tracer, PyFrameObject* frame, PyObject* callable,
                      bool is_exit) noexcept {
  if (!PyCFunction_Check(callable)) return false;
  const CallableKey found = tracer.callables.function(callable);
  const bool takes_place = found.effect == CallEffect::TakesPlace;
  if (found.effect == CallEffect::StartsThread && is_exit) renew_hooks(tracer);
  if (tracer.c_calls && !(takes_place && is_exit)) {
    profile_call(tracer, frame, found, is_exit);
    if (takes_place) profile_call(tracer, frame, found, true);
  }
  return takes_place && !is_exit;
}

// A function that raises loses its place, as it would without us, and we keep ours.
int call_other(Seat& seat, PyFrameObject* frame, int what, PyObject* argument) {
  PyObject* const former = seat.other_argument;
  Py_XINCREF(former);
  const int result = seat.other(former, frame, what, argument);
  Py_XDECREF(former);
  if (result == 0) return 0;
  PyThreadState* const state = PyThreadState_Get();
  if (!seat.tracer->active) return result;  // the profile ended meanwhile
  PyObject* const exception = take_exception();
  if (!is_ours(state) && !sit_down(*seat.tracer, state)) clear_or_report(PyExc_Exception);
  if (is_ours(state)) {
    Seat& now = *reinterpret_cast<Seat*>(state->c_profileobj);
    now.other = nullptr;
    Py_CLEAR(now.other_argument);
  }
  restore_exception(exception);
  return result;
}

// As capture_function() says.
bool capture_event(Tracer& tracer, PyFrameObject* frame, int what, PyObject* argument) noexcept {
  if (tracer.interrupted.has_any()) tracer.capture_untold(frame, what == PyTrace_CALL);
  switch (what) {
    case PyTrace_CALL:
      capture_frame(tracer, frame, false);
      return false;
    case PyTrace_RETURN:
      capture_frame(tracer, frame, true);
      return false;
    case PyTrace_C_CALL:
      return capture_function(tracer, frame, argument, false);
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
      return capture_function(tracer, frame, argument, true);
    default:
      return false;
  }
}

// The long way of [Short].
[[gnu::noinline]] int hear(PyObject* self, PyFrameObject* frame, int what, PyObject* argument,
                           bool is_captured) {
  Seat& seat = *reinterpret_cast<Seat*>(self);
  Tracer& tracer = *seat.tracer;
  bool takes_place = false;
  if (!is_captured && tracer.active) {
    takes_place = capture_event(tracer, frame, what, argument);
    if (profiler::has_begun_block()) {  // see [New threads]
      renew_hooks(tracer);
      watch_greenlets();
    }
  }
  int result = 0;
  if (seat.other != nullptr) {
    Py_INCREF(self);
    result = call_other(seat, frame, what, argument);
    Py_DECREF(self);
  }
  // Last: a function in Python that is called before would run what is pending too early.
  if (takes_place) notice_replacement(tracer, frame);
  return result;
}

[[gnu::always_inline]] inline bool capture_shortly(Tracer& tracer, PyFrameObject* frame, int what,
                                                   PyObject* argument) noexcept {
  // Five events and two ways: what is an exit is computed, not branched for.
  static_assert(PyTrace_CALL == 0 && PyTrace_RETURN == 3 && PyTrace_C_CALL == 4 &&
                PyTrace_C_EXCEPTION == 5 && PyTrace_C_RETURN == 6);
  if (what >= PyTrace_C_CALL) {
    return what <= PyTrace_C_RETURN &&
           tracer.capture_call_shortly(argument, /*is_exit=*/what != PyTrace_C_CALL);
  }
  return (what == PyTrace_CALL || what == PyTrace_RETURN) &&
         tracer.capture_shortly(code_of(frame), /*is_exit=*/what != PyTrace_CALL);
}

[[gnu::aligned(64)]] int on_event(PyObject* self, PyFrameObject* frame, int what,
                                  PyObject* argument) {
  const Seat& seat = *reinterpret_cast<Seat*>(self);
  const bool is_captured = capture_shortly(*seat.tracer, frame, what, argument);
  if (__builtin_expect(is_captured && seat.other == nullptr, 1)) return 0;
  return hear(self, frame, what, argument, is_captured);
}

// The tracer that is told of lines, of the interpreter that this thread is in. See [Lines].
Tracer* line_tracer() noexcept { return listening.load(std::memory_order_acquire); }

int on_line(PyObject* argument, PyFrameObject* frame, int what, PyObject* value) {
  Tracer* const tracer = line_tracer();
  if (tracer == nullptr) return 0;
  if (what == PyTrace_LINE) tracer->lines.begin_line(code_of(frame), PyFrame_GetLineNumber(frame));
  const Lines::Thread* const thread = tracer->lines.thread();
  if (thread == nullptr || thread->other == nullptr) return 0;
  return thread->other(argument, frame, what, value);
}

// Whether the innermost call of a thread is one of a chosen function.
bool is_in_lines(const Lines::Thread& thread) { return !thread.calls.empty() && thread.above == 0; }

void follow_lines_of(PyThreadState* state, Lines::Thread& thread) noexcept {
  const bool is_on = state->c_tracefunc == on_line;
  if (is_in_lines(thread) && !is_on) {
    thread.other = state->c_tracefunc;
    state->c_tracefunc = on_line;
  } else if (!is_in_lines(thread) && is_on) {
    state->c_tracefunc = std::exchange(thread.other, nullptr);
  }
  if (is_ours(state)) state->c_profilefunc = thread.calls.empty() ? on_event : on_event_with_lines;
}

[[gnu::noinline]] int on_event_with_lines(PyObject* self, PyFrameObject* frame, int what,
                                          PyObject* argument) {
  Tracer& tracer = *reinterpret_cast<Seat*>(self)->tracer;
  Lines::Thread* thread = tracer.lines.thread();
  const std::size_t before = thread == nullptr ? 0 : thread->calls.size();
  const int result = on_event(self, frame, what, argument);
  if (!tracer.active || (thread = tracer.lines.thread()) == nullptr) return result;
  if (thread->calls.size() == before) {
    if (what == PyTrace_CALL) ++thread->above;
    if (what == PyTrace_RETURN && thread->above != 0) --thread->above;
  }
  if (what == PyTrace_CALL || what == PyTrace_RETURN) {
    follow_lines_of(PyThreadState_Get(), *thread);
  }
  return result;
}

}  // namespace

void start_lines(Tracer&, PyObject*) noexcept {}

void follow_lines(Tracer& tracer) noexcept {
  if (Lines::Thread* const thread = tracer.lines.thread()) {
    follow_lines_of(PyThreadState_Get(), *thread);
  }
}

void follow_all_lines(Tracer& tracer) noexcept {
  each_state([&](PyThreadState* state) {
    if (Lines::Thread* const thread = tracer.lines.find_thread(state->id)) {
      follow_lines_of(state, *thread);
    }
  });
}

void stop_lines(Tracer& tracer) noexcept {
  tracer.lines.end_open_calls();
  follow_all_lines(tracer);
}

Hooks* make_hooks(PyObject* module, Tracer& tracer) {
  PyObject* const type = checked_new(PyType_FromModuleAndSpec(module, &seat_spec, nullptr));
  auto* const hooks = new Hooks;
  hooks->seat_type = reinterpret_cast<PyTypeObject*>(type);
  hooks->empty_seat = new_seat(hooks->seat_type, tracer, nullptr, nullptr);
  if (hooks->empty_seat == nullptr) {
    free_hooks(hooks);
    throw PythonErrorSet();
  }
  return hooks;
}

void free_hooks(Hooks* hooks) noexcept {
  if (hooks == nullptr) return;
  Py_XDECREF(hooks->empty_seat);
  Py_XDECREF(hooks->seat_type);
  delete hooks;
}

void prepare_hooks(Tracer&) {
  if (PySys_Audit("sys.setprofile", nullptr) < 0) throw PythonErrorSet();  // see [Audit]
}

void start_hooks(Tracer& tracer) {
  bool failed = false;
  each_state([&](PyThreadState* state) {
    if (!failed && !is_ours(state)) failed = !sit_down(tracer, state);
  });
  if (failed) throw PythonErrorSet();
  tracer.hooks->interpreter = PyInterpreterState_Get();
  listening.store(&tracer);
  profiler::hear_of_taken_gils(&sit_down_here);
}

namespace {

// A thread counts once, however often its place changes hands.
void note_replaced(Tracer& tracer, const PyThreadState* state) noexcept {
  try {
    tracer.replaced.insert(state->id);
  } catch (const std::bad_alloc&) {  // one fewer is said
  }
}

}  // namespace

void renew_hooks(Tracer& tracer) noexcept {
  each_state([&](PyThreadState* state) {
    if (is_ours(state)) return;
    Seat* const put_back = find_seat(tracer, state);
    if (put_back == nullptr && tracer.hooks->was_seated(state)) note_replaced(tracer, state);
    if (put_back != nullptr) {
      set_profile_function(state, on_event, reinterpret_cast<PyObject*>(put_back));
    } else if (!sit_down(tracer, state)) {
      clear_or_report(PyExc_Exception);
    }
  });
}

void stop_hooks(Tracer& tracer) noexcept {
  profiler::hear_of_taken_gils(nullptr);
  listening.store(nullptr);
  if (PySys_Audit("sys.setprofile", nullptr) < 0) clear_or_report(PyExc_Exception);
  each_state([&](PyThreadState* state) {
    Seat* const seat = find_seat(tracer, state);
    if (seat == nullptr) {
      if (tracer.hooks->was_seated(state)) {
        note_replaced(tracer, state);
      } else {
        ++tracer.unseen;
      }
      return;
    }
    Py_INCREF(seat);
    set_profile_function(state, seat->other, seat->other_argument);
    Py_DECREF(seat);
  });
  tracer.hooks->seated.clear();
}

}  // namespace opyard::python
