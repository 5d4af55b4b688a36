// tracer/at_entry.h: frames at their first instruction when a profile begins.
//
// They are in what was open when it began, and yet CPython may tell of their call afterwards: it
// gives the GIL away between the two, to the thread that starts the profile. Such a call is the one
// that is open already, not a second one inside it. A frame is known by its object, since a
// function may call itself first of all.
//
// Its code is flagged, so that no other code's events look here.
//
// Threads: with the GIL held. Depends on: tracer/code_keys.h.
#pragma once

#include "opyard/detail/python/traced_python.h"

#include <vector>

#include "tracer/code_keys.h"

namespace opyard::python {

class AtEntry {
 public:
  // Throws std::bad_alloc and PythonErrorSet.
  void add(CodeKeys& codes, PyFrameObject* frame);
  // Of an event of this frame: whether it was found at its entry, and had no event since.
  bool take(CodeKeys& codes, const PyFrameObject* frame) noexcept;
  // Between profiles.
  void forget(CodeKeys& codes) noexcept;

 private:
  struct Found {
    const PyFrameObject* frame;  // which runs until take()
    PyObject* code;              // a reference
  };

  std::vector<Found> frames_;
};

}  // namespace opyard::python
