// tracer/lines/hottest.h: Hottest: finds the functions whose lines are timed if none were named.
//
// A thread of its own looks a hundred times a second at what each thread of the interpreter runs:
// at the innermost function of the program's own, so that what a library takes counts as its
// caller's. A function that is found often enough is chosen there and then, up to ten of them: its
// lines are timed from that moment on, also in a call that is open.
//
// The thread has a thread state of the interpreter, runs no Python, and holds the GIL while it
// looks.
//
// Threads: start() and stop() with the GIL held; stop() gives it up while it waits.
// Depends on: opyard/profiler/fold.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "opyard/profiler/fold.h"

namespace opyard::python {

struct Tracer;

class Hottest {
 public:
  // Throws std::bad_alloc, and std::system_error if there is no thread to be had.
  void start(Tracer& tracer, profiler::FoldRules rules);
  // Nothing if it is not on. In a child of a fork, where the thread is not, it is forgotten.
  void stop() noexcept;

 private:
  void run(PyInterpreterState* interpreter);
  void look();
  PyObject* find_own_code(PyThreadState* state);

  Tracer* tracer_ = nullptr;  // while it is on
  profiler::FoldRules rules_;
  std::thread thread_;
  std::int64_t process_ = 0;
  std::mutex mutex_;  // around the next ones
  std::condition_variable woken_;
  bool has_state_ = false;  // or will have none
  bool ends_ = false;
  // Of the thread's own.
  std::unordered_map<std::uint32_t, std::uint32_t> found_;  // how often, by key
  std::uint64_t all_found_ = 0;
};

}  // namespace opyard::python
