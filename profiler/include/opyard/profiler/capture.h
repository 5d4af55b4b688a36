// opyard/profiler/capture.h: Capture: events of all threads, taken through windows.
//
// A Window is what a profile is: it notes where each thread's stream was when it began, and at its
// end takes what was written since as a Capture. Windows are independent of each other. While
// there is none, blocks that are full are written again from the start: events of a writer that is
// late cost no memory.
//
// What is captured at all is decided by those who append: a tracer of Python, the watch on
// operators.
//
// Depends on: profiler/stream.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "opyard/profiler/stream.h"

namespace opyard::profiler {

// Part of a block.
struct Slice {
  Block* block;
  std::uint32_t begin;
  std::uint32_t end;
};

// What one thread wrote within a window.
struct StreamCapture {
  std::int64_t native_id = 0;
  std::uint64_t handle = 0;
  std::uint64_t lost = 0;
  std::vector<Slice> slices;
  // The last that is known of its CPU time, if that is not 0, and when that was.
  std::uint64_t last_thread_time_ns = 0;
  std::uint64_t last_thread_time_ticks = 0;
};

// The frames that were open on a thread when the window began, outermost first.
struct StartStack {
  std::uint64_t handle = 0;
  std::int64_t native_id = 0;  // 0 if it is not known
  std::vector<std::uint32_t> keys;
  std::vector<SpanKind> kinds;
  // The CPU time of the thread when the window began and ended, in nanoseconds; 0 if not known.
  std::uint64_t first_thread_time_ns = 0;
  std::uint64_t last_thread_time_ns = 0;
  std::uint32_t lost_ends = 0;  // of the innermost: they have ended, and no event says when
};

// What a thread is called in a profile.
struct ThreadName {
  std::uint64_t handle = 0;
  std::int64_t native_id = 0;
  std::string name;
};

// What a line of a function took, with all that it called.
struct LineTime {
  std::uint32_t key;  // of the function
  std::int32_t line;
  std::uint64_t count;  // how often it began
  std::uint64_t time;   // in nanoseconds, or in ticks where that is said
};

// What a window saw. Owns its part of the blocks.
class OPYARD_API Capture {
 public:
  Capture() = default;
  Capture(Capture&& other) noexcept;
  Capture& operator=(Capture&& other) noexcept;
  ~Capture();

  std::uint64_t bytes() const noexcept;
  std::uint64_t events() const noexcept;

  ClockPair begin{};
  ClockPair end{};
  ClockPair first_pair{};  // the oldest there is, for the rate of the clock
  std::uint64_t unix_begin_ns = 0;
  // Of a ring: streams begin where blocks do, some before the capture, and the stacks are those
  // of its end.
  bool is_ring = false;
  std::vector<StreamCapture> streams;
  std::vector<StartStack> start_stacks;
  std::vector<ThreadName> thread_names;
  std::vector<LineTime> lines;
  // Said in the quality report: by the tracer, "the profile function was replaced", and how often.
  std::vector<std::pair<std::string, std::uint64_t>> notes;
};

class Window;
Capture copy_ring_blocks(Window& window);  // see ring_blocks.h

class OPYARD_API Window {
 public:
  // Begins now. Throws std::bad_alloc.
  Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  // A window that was not ended is ended, and its capture dropped.
  ~Window();

  void add_start_stack(StartStack stack);
  const std::vector<StartStack>& start_stacks() const noexcept { return start_stacks_; }
  // Ends it. Once. Throws std::bad_alloc, and can be called again then.
  Capture end();

  std::uint64_t begin_ticks() const noexcept { return begin_.ticks; }

 private:
  friend class Streams;
  friend Capture copy_ring_blocks(Window& window);
  struct Start {
    std::uint64_t stream;
    Block* block;  // held
    std::uint32_t event;
    std::uint64_t lost;
  };

  ClockPair begin_{};
  std::uint64_t unix_begin_ns_ = 0;
  std::vector<Start> starts_;
  std::uint64_t first_new_stream_ = 0;
  std::vector<StartStack> start_stacks_;
  bool open_ = false;
};

}  // namespace opyard::profiler
