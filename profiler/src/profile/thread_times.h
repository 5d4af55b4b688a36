// profile/thread_times.h: CPU time of spans.
//
// Depends on: profiler/profile.h.
#pragma once

#include <cstdint>
#include <vector>

#include "opyard/profiler/profile.h"

namespace opyard::profiler {

// Of each span, how long its thread had a processor within it, in nanoseconds: never less than 0,
// never more than it lasted, and never less than in the spans inside it. Where nothing is known,
// all of the time. See thread_times.cpp.
std::vector<std::int64_t> thread_times_of(const Track& track);

}  // namespace opyard::profiler
