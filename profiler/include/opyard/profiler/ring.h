// opyard/profiler/ring.h: the ring buffer of the flight recorder.
//
// A ring may stay on while profiles come and go: it captures what they do while one is active, and
// what it was made for before and after. Its memory is bounded by blocks of 64 KiB: the oldest one
// goes if there is no room for a new one. Beyond the bound each thread has the block that it writes
// to; and while a profile is active nothing goes, since the profile wants it all.
//
// There is one ring in a process.
//
// Threads: as a Session. Depends on: profiler/session.h.
#pragma once

#include <cstdint>

#include "opyard/profiler/session.h"

namespace opyard::profiler {

struct RingBounds {
  std::uint64_t bytes = std::uint64_t{64} << 20;
  std::uint64_t ns = 0;  // 0: as long ago as the bytes reach
};

class OPYARD_API Ring {
 public:
  // Raises BadRegistration if there is one, and what a source raises.
  Ring(const SessionOptions& options, const RingBounds& bounds);
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring();

  // What is in it now; it goes on. Raises what a source raises that tells of open frames.
  Capture dump();
  // Stops capture. What is in the ring is lost.
  void end();

  static bool is_on() noexcept;
  // Around the time in which a session captures by its own options.
  static void pause();
  static void resume();

 private:
  void start_sources();
  void stop_sources();

  SessionOptions options_;
  RingBounds bounds_;
  std::vector<const Source*> started_;
  bool ended_ = false;
};

}  // namespace opyard::profiler
