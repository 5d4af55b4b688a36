// runtime/newer_python.h: layout checks of a CPython that is newer than the tested ones.
//
// The plugin relies on more than the stable part of CPython's interface: how an object, a type and
// a code object are laid out, what a type's version means. On a version that the tests run on this
// is known; on a newer one each of these is tried once, when opyard is imported.
//
// Threads: with the GIL held. Depends on: runtime/owned.h.
#pragma once

#include <span>

namespace opyard::python {

// One thing that is relied on. `holds` leaves no exception set.
struct LayoutCheck {
  const char* name;
  bool (*holds)() noexcept;
};

std::span<const LayoutCheck> layout_checks() noexcept;

// Warns with RuntimeWarning that this version is not tested. Raises ImportError if one of the
// checks fails, and says which.
void meet_newer_python(std::span<const LayoutCheck> checks);

}  // namespace opyard::python
