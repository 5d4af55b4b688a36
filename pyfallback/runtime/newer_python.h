// runtime/newer_python.h: layout checks of a CPython that is newer than the tested ones.
//
// The plugin relies on more than the stable part of CPython's interface: how an object, a type and
// a code object are laid out, what a type's version means. On a version that the tests run on this
// is known; on a newer one each of these is tried once, when opyard is imported.
//
// Threads: with the GIL held. Depends on: python/python.h.
#pragma once

namespace opyard::python {

// The name of the first thing relied on that is different in this CPython, or null. It may leave an
// exception set then.
const char* failed_layout_check() noexcept;

// Warns with RuntimeWarning that this version is not tested. Raises ImportError if a check has
// failed, and says which; its cause is the exception that is set, if one is.
void meet_newer_python(const char* failed);

}  // namespace opyard::python
