// profiler/capture/sources.h: starting and stopping event sources, for sessions and the ring.
//
// Depends on: profiler/session.h.
#pragma once

#include <vector>

#include "opyard/profiler/session.h"

namespace opyard::profiler {

std::vector<const Source*> wanted_sources(const SessionOptions& options);
// Starts all that the options name and notes them; if one raises, the others are stopped.
void start_all(const SessionOptions& options, Window& window, std::vector<const Source*>& started);
// In reverse. If one raises, the others are stopped all the same, and that is raised.
void stop_all(std::vector<const Source*>& started, SourceReport& report);

}  // namespace opyard::profiler
