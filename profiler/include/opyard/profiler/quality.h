// opyard/profiler/quality.h: the data-quality report of a profile, as text and JSON.
//
// Every export but collapsed stacks, which have room for nothing else, carries it: what was lost or
// made up, which clock it was, and what an event costs on this machine, so how much of each row is
// the profiler's own time.
//
// Depends on: profiler/profile.h.
#pragma once

#include <string>

#include "opyard/profiler/profile.h"

namespace opyard::profiler {

// What one event costs here, clock and store, in nanoseconds. Measured once, at the first call.
OPYARD_API double event_cost_ns();

OPYARD_API std::string quality_json(const Profile& profile);

}  // namespace opyard::profiler
