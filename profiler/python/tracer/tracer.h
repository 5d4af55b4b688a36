// tracer/tracer.h: Tracer: call capture of an interpreter.
//
// One file of the two is built for a CPython: monitoring.cpp from 3.12 on, set_profile.cpp before.
// Both capture every thread of the interpreter that starts them, those that begin later too.
//
// Threads: with the GIL held. Depends on: tracer/{code_keys,callable_keys}.h,
// opyard/profiler/session.h.
#pragma once

#include "opyard/detail/python/traced_python.h"

#include <cstdint>
#include <deque>
#include <unordered_set>

#include "opyard/profiler/session.h"
#include "tracer/at_entry.h"
#include "tracer/callable_keys.h"
#include "tracer/code_keys.h"
#include "tracer/coroutines.h"
#include "tracer/filter.h"
#include "tracer/instances.h"
#include "tracer/interrupted.h"
#include "tracer/lines/hottest.h"
#include "tracer/lines/lines.h"

namespace opyard::python {

// How Python tells of calls: of a module's state, never moved.
struct Hooks;

struct Tracer {
  CodeKeys codes;
  CallableKeys callables;
  Instances instances;
  Coroutines coroutines;
  AtEntry at_entry;
  Interrupted interrupted;
  Filter filter;
  Lines lines;
  Hottest hottest;
  PyObject* on_collection = nullptr;  // for gc.callbacks; a reference
  Hooks* hooks = nullptr;
  bool active = false;
  bool c_calls = false;
  bool by_instance = false;
  bool collections = false;
  // Threads in whose place a program put a profile function of its own, by their state's number.
  std::unordered_set<std::uint64_t> replaced;

  // Interpreters that are not this one, alive at the begin or the end.
  std::unordered_set<std::int64_t> others;
  std::uint64_t set_within = 0;  // calls of sys.setprofile, if it takes our place
  std::uint64_t taken = 0;       // events of sys.monitoring that a program has taken from us
  std::uint64_t unseen = 0;      // threads that were never captured, alive at the end

  // Of the threads of Python that have ended, the last ones.
  std::deque<profiler::ThreadName> ended_threads;

  // What a code's word has above its key if there is nothing to do but to capture it; of none if
  // every event needs a look.
  std::uint32_t plain = 0;
  // The same while every event can be captured in a few instructions, else of none: see
  // choose_path().
  std::uint32_t shortest = ~std::uint32_t{0};
  // Whether calls of C need a look, too.
  bool looks_at_calls = false;
  bool caller_lines = false;
  std::uint32_t max_depth = 0;
  std::uint64_t least_ticks = 0;
  std::uint64_t begin_ticks = 0;
  std::uint32_t number = 0;  // of this profile

  void set_options(const profiler::SessionOptions& options);
  // Before capture begins, and whenever `active` or `interrupted` change: whether the shortest
  // path is open. It takes the processor's counter for a clock and looks at nothing but the key.
  void choose_path() noexcept;
  // In front of an event, see tracer/interrupted.h.
  void capture_untold(PyFrameObject* frame, bool begins) noexcept {
    const std::uint32_t key = frame == nullptr ? 0 : word(code_of(frame)).key();
    interrupted.capture_ends(codes, frame, key, begins);
    if (!interrupted.has_any()) choose_path();
  }

  // The key for a frame's code. Never fails: key 0 is a frame without a name.
  CodeWord word(PyObject* code) noexcept { return codes.require(code); }
  bool is_plain(CodeWord word) const noexcept { return word.upper() == plain; }
  // Captures an event of a code, or of a callable that is held; false if it has to take the long
  // way. Calls nothing.
  bool capture_shortly(PyObject* code, bool is_exit) noexcept {
    constexpr auto kEnter = profiler::enter_of(profiler::SpanKind::Python);
    const CodeWord word = codes.find(code);
    return __builtin_expect(word.upper() == shortest, 1) &&
           profiler::capture_here(
               profiler::exit_if(is_exit, profiler::half_of(kEnter, word.key())));
  }
  bool capture_call_shortly(PyObject* callable, bool is_exit) noexcept {
    const CallableKeys::Held* const held = callables.find_held(callable);
    return __builtin_expect(held != nullptr, 1) &&
           profiler::capture_here(profiler::exit_if(is_exit, held->enter));
  }
  // Events of a code object that is not plain. `frame` is the one that begins or ends, borrowed.
  // False if none of this code will ever be captured in this profile.
  bool capture_special(CodeWord word, PyObject* code, PyFrameObject* frame, bool is_exit) noexcept;
  // Whether the profile leaves the code out, whatever calls it. Changes the word if that was not
  // decided yet.
  bool is_left_out(CodeWord& word, PyObject* code) noexcept;
  // From now on the lines of this code are timed, also in calls that are open, once their threads
  // are looked through.
  void choose_lines(PyObject* code, std::uint32_t key) noexcept;
  // How a call of this code is shown.
  profiler::SpanKind kind_of(CodeWord word) const noexcept;
  // As capture_special(), for a call of C by a frame of this code.
  bool capture_call(CallableKey found, PyObject* code, PyFrameObject* caller,
                    bool is_exit) noexcept;

 private:
  void note_lines(PyObject* code, PyFrameObject* frame, bool is_exit) noexcept;
  // The thread that this frame of `threading` belongs to begins or ends.
  void note_name_of_thread(PyFrameObject* frame, bool is_end) noexcept;
  void capture_exit(profiler::EventKind enter, profiler::EventKind exit,
                    std::uint32_t key) noexcept;
};

// In the file for this CPython. The first makes types and keeps them in the module's state; both
// throw PythonErrorSet.
Hooks* make_hooks(PyObject* module, Tracer& tracer);
void free_hooks(Hooks* hooks) noexcept;
// May run code of the program's: all that does before capture begins. Throws PythonErrorSet, and
// has taken nothing then.
void prepare_hooks(Tracer& tracer);
// Keeps the GIL throughout.
void start_hooks(Tracer& tracer);
void stop_hooks(Tracer& tracer) noexcept;
// Tells of the lines of a code, which is flagged. Leaves no exception.
void start_lines(Tracer& tracer, PyObject* code) noexcept;
// Of no code any more.
void stop_lines(Tracer& tracer) noexcept;
// After calls of chosen functions have begun or ended on this thread, or on any.
void follow_lines(Tracer& tracer) noexcept;
void follow_all_lines(Tracer& tracer) noexcept;
// Looks whether a program took our place, and takes it again.
void renew_hooks(Tracer& tracer) noexcept;

// While it lives, Python's collector does not start.
class PauseCollector {
 public:
  PauseCollector() noexcept : was_on_(PyGC_Disable() != 0) {}
  PauseCollector(const PauseCollector&) = delete;
  PauseCollector& operator=(const PauseCollector&) = delete;
  ~PauseCollector() {
    if (was_on_) PyGC_Enable();
  }

 private:
  const bool was_on_;
};

// What is open, on every thread of the interpreter. With `begins`, capture begins now, and the
// GIL is not given away in between: then what CPython may tell of again is in `at_entry`.
void add_start_stacks(Tracer& tracer, profiler::Window& window, bool begins = false);

}  // namespace opyard::python
