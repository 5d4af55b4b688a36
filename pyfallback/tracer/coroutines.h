// tracer/coroutines.h: which coroutine an event is of, and which task of asyncio.
//
// A coroutine gets a number when it first runs, and one that a task runs itself the name of that
// task, too. It is watched by a weak reference, so that another one at the same address is another
// coroutine.
//
// Threads: with the GIL held. Depends on: runtime/traced_python.h.
#pragma once

#include "runtime/traced_python.h"

#include <cstdint>
#include <unordered_map>

#include "opyard/profiler/event.h"

namespace opyard::python {

class Coroutines {
 public:
  // The word behind an event of this frame, see profiler/tasks.h; zeros if the frame is of no
  // coroutine, or if there is no memory. May run Python: asyncio is asked for the current task,
  // once for each coroutine. Leaves no exception.
  profiler::Payload require(PyFrameObject* frame) noexcept;
  // Between profiles. May run finalisers.
  void forget() noexcept;

 private:
  struct Seen {
    PyObject* weak;  // a reference
    profiler::Payload word;
  };
  profiler::Payload add(PyObject* coroutine);

  std::unordered_map<PyObject*, Seen> seen_;
};

}  // namespace opyard::python
