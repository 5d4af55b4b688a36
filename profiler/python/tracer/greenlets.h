// tracer/greenlets.h: greenlets: threads with several stacks.
//
// A greenlet, and so each task of gevent's, has a stack of its own, and a thread goes from one to
// another in the middle of a call. The package tells a function of that, one a thread, and what was
// there before is called by ours. Each switch is an event, by which replay() gives each stack a
// track.
//
// Threads: with the GIL held. Depends on: python/python.h.
#pragma once

#include "opyard/detail/python/python.h"

namespace opyard::python {

// Of this thread, if the program has imported the package; nothing if it is heard already. Leaves
// no exception.
void watch_greenlets() noexcept;
// Of this thread. On others our function stays, and only calls what was there.
void forget_greenlets() noexcept;

}  // namespace opyard::python
