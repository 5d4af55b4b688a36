// tracer/programs.h: count of programs that were started and not followed.
//
// Threads: with the GIL held. Depends on: python/python.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <cstdint>

namespace opyard::python {

// From now on until the process ends. False, with an exception set, if an audit hook of the
// program's refuses.
bool watch_programs();
// One more, which watch_programs() does not hear of.
void count_program() noexcept;
// By this process, and before it by those that it was forked from.
std::uint64_t programs_started() noexcept;

}  // namespace opyard::python
