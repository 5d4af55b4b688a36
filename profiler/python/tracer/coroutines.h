// tracer/coroutines.h: the coroutine and asyncio task of an event.
//
// A coroutine gets a number when it first runs, and one that a task runs itself the name of that
// task, too. It goes by its address until another one begins there.
//
// Threads: with the GIL held. Depends on: python/traced_python.h.
#pragma once

#include "opyard/detail/python/traced_python.h"

#include <cstdint>
#include <unordered_map>

#include "opyard/profiler/event.h"

namespace opyard::python {

class Coroutines {
 public:
  // The word behind an enter of this frame, see tasks.h; zeros if the frame is of no
  // coroutine, or if there is no memory. May run Python: asyncio is asked for the current task,
  // once for each coroutine. Leaves no exception.
  profiler::Payload require(PyFrameObject* frame, std::uint32_t code_key) noexcept;
  // Of an event that is not captured.
  void note_begin(PyFrameObject* frame) noexcept;
  // Between profiles.
  void forget() noexcept { seen_.clear(); }

 private:
  struct Seen {
    std::uint32_t code_key = 0;
    profiler::Payload word{};
  };
  profiler::Payload add(PyObject* coroutine, std::uint32_t code_key);

  std::unordered_map<const PyObject*, Seen> seen_;  // of which nothing is held
};

}  // namespace opyard::python
