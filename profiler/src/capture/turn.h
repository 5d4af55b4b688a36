// profiler/capture/turn.h: serialises starting and stopping of captures.
//
// Depends on: base/error.h.
#pragma once

namespace opyard::profiler {

// Waits until no other thread has one; without the GIL, since starting and stopping may run Python.
// Raises BadRegistration on a thread that has one: a hook of Python's that it runs must not start
// another capture.
class Turn {
 public:
  Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn();
};

}  // namespace opyard::profiler
