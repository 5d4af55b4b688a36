// opyard/profiler/export.h: options of exports, and the formats besides Chrome's.
//
// Each is written piece by piece, with spans in the order of time within a track; all text is valid
// UTF-8, and each but the collapsed stacks carries the report of profiler/quality.h.
//
// Depends on: profiler/profile.h, profiler/sink.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "opyard/profiler/profile.h"
#include "opyard/profiler/sink.h"

namespace opyard::profiler {

struct ExportOptions {
  std::vector<std::string> prefixes;  // of file names, left out; see labels.h
  std::vector<std::pair<std::string, std::string>> metadata;  // key, and a JSON value
  std::string process_name;
  std::int64_t process_id = 0;
};

// The number of the process of a track.
inline std::int64_t process_of(const Profile& profile, const ExportOptions& options,
                               const Track& track) {
  return track.process == 0 ? options.process_id : profile.processes[track.process - 1].id;
}
// What a track is called if nothing beside it says its process: with that, if there are several.
inline std::string prefix_of(const Profile& profile, const ExportOptions& options,
                             const Track& track) {
  if (profile.processes.empty()) return {};
  return "process " + std::to_string(process_of(profile, options, track)) + ": ";
}

// Protocol buffers of Perfetto: names once, times as differences, some 20 bytes a span.
OPYARD_API void write_perfetto(const Profile& profile, const ExportOptions& options,
                               const Sink& sink);
// Protocol buffers of pprof: stacks with how often they were called, and their own time.
OPYARD_API void write_pprof(const Profile& profile, const ExportOptions& options, const Sink& sink);
// JSON of https://www.speedscope.app: a profile for each track.
OPYARD_API void write_speedscope(const Profile& profile, const ExportOptions& options,
                                 const Sink& sink);
// "outer;inner 123": a line for each stack that has time of its own, in nanoseconds, for flame
// graphs.
OPYARD_API void write_stacks(const Profile& profile, const ExportOptions& options,
                             const Sink& sink);

}  // namespace opyard::profiler
