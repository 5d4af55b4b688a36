// opyard/profiler/gil_waits.h: listener for a thread that has taken a GIL in Opyard's gate.
//
// A profile captures how long it waited; a tracer of Python learns of threads that come from C++,
// for which Python may have made a state just now.
//
// Depends on: base/export.h.
#pragma once

#include "opyard/base/export.h"

namespace opyard::profiler {

// On a thread that holds the GIL it has waited for. Null: no one is told.
OPYARD_API void hear_of_taken_gils(void (*function)() noexcept) noexcept;

}  // namespace opyard::profiler
