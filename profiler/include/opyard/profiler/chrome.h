// opyard/profiler/chrome.h: a profile in Chrome's JSON format, which Perfetto and others open.
//
// `ts` and `dur` are microseconds since the window began, with three decimals, which are exact;
// since 1970 they would not fit a double. `baseTimeNanoseconds` says when that was. Parents come
// before their children, and the numbers of a child never leave its parent's.
//
// Depends on: profiler/export.h.
#pragma once

#include "opyard/profiler/export.h"

namespace opyard::profiler {

// Writes a timeline for Perfetto and chrome://tracing, piece by piece.
OPYARD_API void write_chrome(const Profile& profile, const ExportOptions& options,
                             const Sink& sink);

}  // namespace opyard::profiler
