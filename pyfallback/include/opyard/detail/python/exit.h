// opyard/detail/python/exit.h: calls of Python on threads that may be ended meanwhile.
//
// in_python() is for calls that may wait for the GIL, as Python code does now and then;
// drop_reference() for giving a reference back in a destructor, which may run a finaliser.
//
// [Exit] While Python ends, CPython ends every other thread that waits for the GIL, by forced
// unwinding. On its way out of C++ that would run destructors that drop Python references, of
// which the thread no longer holds the GIL, and meet some that may not throw. So code that may
// wait for the GIL catches it where it starts, and the thread sleeps for ever, as it does
// under CPython 3.14. It holds no lock of ours then: none is held while a GIL is taken.
//
// Depends on: python/python.h, base/error.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <cxxabi.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "opyard/base/error.h"

namespace opyard::python {

[[noreturn]] inline void sleep_for_ever() noexcept {
  for (;;) pause();
}

// Runs a body that may wait for the GIL. See [Exit].
template <typename Body>
OPYARD_CATCHES_FORCED_UNWIND decltype(auto) in_python(Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (abi::__forced_unwind&) {
    sleep_for_ever();
  }
}

// True once the interpreter was closed, so that Python may be ending at any time from then on.
inline constinit std::atomic<bool> closed_for_exit{false};

// A thread that is being ended comes by without the GIL, if nothing caught it at its start: what
// it owned is leaked then, as the interpreter is ending, too.
[[gnu::noinline]] inline void drop_with_care(PyObject* object) noexcept {
  if (is_finalizing() && !holds_gil()) return;
  in_python([object] { Py_DECREF(object); });
}

// Gives a reference back, of an object that is not null. With the GIL held, see above; without it
// even the count must not be read.
inline void drop_reference(PyObject* object) noexcept {
  if (closed_for_exit.load(std::memory_order_relaxed) || Py_REFCNT(object) == 1) {
    drop_with_care(object);
  } else {
    Py_DECREF(object);
  }
}

}  // namespace opyard::python
