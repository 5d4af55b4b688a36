// tracer/interrupted.h: threads inside another tool's callback when a profile begins.
//
// A profile function, a trace function and a callback of sys.monitoring hear of the end of a call
// before that call is over. A profile that begins meanwhile finds it open, and what the tool itself
// runs inside it, and Python tells of none of these ends: the call's was told, and the tool's own
// calls never are. So the first event of such a thread comes with the ends of what is gone by then.
// Nothing else can have begun without an event, so that is what was deeper than the frames that are
// left. If there is no event until the profile's end, the frames that are open then tell which have
// ended, but not when: nothing that was captured is around what the thread did.
//
// Before CPython 3.12 a trace function hears of a call first, and the profile function after it: of
// a call that is open already.
//
// [Replaced] There, too, a program may put a profile function of its own over ours. Until ours is
// back, calls of that thread begin and end without an event. So at its next event the frames that
// are open are compared with those that were: what is another code's, and all inside it, has ended.
//
// Threads: with the GIL held. Depends on: tracer/code_keys.h, opyard/profiler/session.h.
#pragma once

#include "opyard/detail/python/traced_python.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "opyard/profiler/session.h"
#include "tracer/code_keys.h"

namespace opyard::python {

class Interrupted {
 public:
  // A frame that is open when a profile begins, and is in it.
  struct Frame {
    std::uint32_t depth;   // the outermost frame's is 1
    bool has_run_nothing;  // so its call may be told of afterwards
    std::uint32_t key;
    profiler::SpanKind kind;
  };

  bool has_any() const noexcept { return !threads_.empty(); }
  struct Thread {
    std::uint64_t id;  // of its state
    std::uint64_t handle;
    std::int64_t native_id;
    std::vector<Frame> frames;  // from the outermost on
    bool is_replaced = false;
  };

  // A thread of which is_told_of_nothing(), or see [Replaced].
  void add(Thread thread) { threads_.push_back(std::move(thread)); }
  // Before an event of this thread is captured, which is in this frame, of the code with this key:
  // captures what has ended without one. `begins` if it is the begin of the frame's own call; if
  // that is open already, it says so.
  void capture_ends(CodeKeys& codes, PyFrameObject* frame, std::uint32_t key, bool begins) noexcept;
  // At the end of a profile, of threads that had no event in it.
  void note_lost_ends(CodeKeys& codes, profiler::SourceReport& report) const;
  // Between profiles.
  void forget() noexcept { threads_.clear(); }

 private:
  std::vector<Thread> threads_;
};

}  // namespace opyard::python
