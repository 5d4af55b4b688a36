// opyard/profiler/session.h: a session: a window and its event sources, from start to stop.
//
// A source brings events of one sort: the Python tracer, say. It
// joins by register_source(), so this library links none of them. A session starts every source
// that its options name, and stops them in reverse before its window ends.
//
// There is one session at a time in a process: a second one is refused. A ring may be on beside it,
// see profiler/ring.h.
//
// Threads: start() and end() on any thread; a source says what else it needs.
//
// Depends on: profiler/capture.h.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "opyard/profiler/capture.h"

namespace opyard::profiler {

// What Python's tracer leaves out, and what it adds.
struct CallOptions {
  bool caller_lines = false;    // the line that each call is made from
  std::uint32_t max_depth = 0;  // of calls inside each other, from where the profile begins; 0: any
  std::uint64_t min_duration_ns = 0;  // shorter calls are left out
  std::vector<std::string> include;   // patterns of files and modules, see tracer/filter.h
  std::vector<std::string> exclude;
  std::vector<std::string>
      lines;                   // of functions whose lines are timed, as tracer/filter.h takes them
  bool hottest_lines = false;  // those of the functions that take most, see tracer/lines/hottest.h
  std::vector<std::string> libraries;  // for that: which functions are the program's, as FoldRules
  std::vector<std::string> own;
};

struct SessionOptions {
  bool python = true;        // calls of Python functions
  bool c_calls = true;       // and of functions in C, if `python`
  bool instances = true;     // calls of modules and optimizers by instance, if `python`
  bool collections = true;   // runs of Python's garbage collector, if `python`
  bool gil_waits = true;     // native threads that wait for the lock of an interpreter
  bool operators = true;     // every kernel of every operator, on every thread
  bool instructions = true;  // of graphs
  bool shapes = false;       // sizes and dtypes of their arguments, if `operators`
  bool memory = false;       // memory of tensors that is taken and given back
  bool devices = true;       // what happens on devices: streams, events, synchronisation
  CallOptions calls{};       // if `python`
  // Not empty: what is captured is written there, too, by this process and those that it forks; see
  // detail/profiler/files.h.
  std::string folder;
  std::string program;  // what the process is called there
};

// Of a thread that had frames open when the window began: how many of the innermost have ended
// without an event.
struct LostEnds {
  std::uint64_t handle;
  std::int64_t native_id;
  std::uint32_t frames;
};

// What a source has to say at the end.
struct SourceReport {
  std::vector<ThreadName> thread_names;
  std::vector<LostEnds> lost_ends;
  std::vector<LineTime> lines;  // in ticks
  std::vector<std::pair<std::string, std::uint64_t>> notes;
};

struct Source {
  const char* name;
  bool (*wanted)(const SessionOptions& options);
  // Begins to write events. May throw: then nothing of it is left behind.
  void (*start)(Window& window, const SessionOptions& options);
  // Writes none any more. Never throws for a reason of its own but lack of memory.
  void (*stop)(SourceReport& report);
  // What is open now, and how threads are called; for a ring, while it captures. May be null.
  void (*describe)(Window& window, SourceReport& report) = nullptr;
};

// For a string of static storage and functions of a library that stays. The same source again is
// ignored.
OPYARD_API void register_source(const Source* source);

class OPYARD_API Session {
 public:
  // Raises BadRegistration if a session is active, and what a source raises.
  explicit Session(const SessionOptions& options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // A session that was not ended warns, and is.
  ~Session();

  Capture end();
  // Whether anything is being captured: by a session, or by a ring.
  static bool is_active() noexcept;
  // Whether a session is.
  static bool has_profile() noexcept;

 private:
  void give_up() noexcept;

  std::unique_ptr<Window> window_;
  std::vector<const Source*> started_;
};

}  // namespace opyard::profiler
