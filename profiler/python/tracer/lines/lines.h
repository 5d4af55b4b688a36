// tracer/lines/lines.h: Lines: time and counts by line of chosen functions.
//
// A function is chosen by its code, which is flagged: CPython tells of its lines alone, and no
// other code's events look here. What its lines take is summed up as it happens, so the memory is
// that of its lines, however often they run.
//
// A line's time goes from its begin to that of the next line of the same call, or to the end of the
// call, with all that it calls, its waits and the turns of other threads. Calls of the same
// function inside of it are taken off: their time is that of the lines in them. So the lines of a
// function take no longer than the function, also if it calls itself.
//
// Threads: with the GIL held. Depends on: tracer/code_keys.h, opyard/profiler/{clock,session}.h.
#pragma once

#include "opyard/detail/python/traced_python.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "opyard/profiler/session.h"
#include "tracer/code_keys.h"

namespace opyard::python {

class Lines {
 public:
  struct Line {
    std::uint64_t count = 0;  // how often it began
    std::uint64_t ticks = 0;
  };
  struct Function {
    PyObject* code;  // a reference
    std::uint32_t key;
    std::unordered_map<int, Line> lines;
  };
  // A call of a chosen function.
  struct Call {
    const Function* function;
    Line* line;             // that runs, or null
    std::uint64_t entered;  // in ticks, as the next ones
    std::uint64_t begin;    // of the line
    std::uint64_t inside;   // of that, in calls of the same function
    std::uint32_t above;    // of the call around it, see Thread
  };
  struct Thread {
    std::vector<Call> calls;
    std::uint32_t above = 0;  // calls of others that are open inside of the last one
    // Of CPython before 3.12: the trace function in whose place ours is, or null.
    Py_tracefunc other = nullptr;
  };

  // Of a new profile.
  void begin() noexcept;
  // Notes a code as chosen; true if it was not yet. Throws std::bad_alloc.
  bool choose(PyObject* code, std::uint32_t key);
  const std::unordered_map<PyObject*, Function>& chosen() const noexcept { return functions_; }

  // Of this thread; null if there is no memory for it.
  Thread* thread() noexcept;
  Thread* find_thread(std::uint64_t state_id) noexcept;
  // A call of a chosen function begins or goes on, at this line if it is not 0, and ends.
  void enter(PyObject* code, int line) noexcept;
  void exit(const PyObject* code) noexcept;
  // A line of the innermost call begins.
  void begin_line(const PyObject* code, int line) noexcept;

  // What is open on all threads, as CPython knows it, in place of what was noted. No other thread
  // may run Python meanwhile. Throws std::bad_alloc.
  void find_open_calls(CodeKeys& codes);
  // Ends what is noted as open, now.
  void end_open_calls() noexcept;
  // Ends what is open, and tells of all lines. Throws std::bad_alloc.
  void report(profiler::SourceReport& report);
  // Gives all references up.
  void forget(CodeKeys& codes) noexcept;

 private:
  std::unordered_map<PyObject*, Function> functions_;
  std::unordered_map<std::uint64_t, Thread> threads_;  // by the number of their state
  std::uint64_t number_ = 0;                           // of the profile, of any interpreter
};

}  // namespace opyard::python
