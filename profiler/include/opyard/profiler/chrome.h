// opyard/profiler/chrome.h: a trace in Chrome's JSON format, which Perfetto and others open.
//
// `ts` and `dur` are microseconds since the window began, with three decimals, which are exact; since 1970
// they would not fit a double. `baseTimeNanoseconds` says when that was. Parents come before their children,
// and the numbers of a child never leave its parent's.
//
// Depends on: profiler/trace.h, profiler/sink.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "opyard/profiler/sink.h"
#include "opyard/profiler/trace.h"

namespace opyard::profiler {

struct ChromeOptions {
  std::vector<std::string> prefixes;  // of file names, left out; see labels.h
  std::vector<std::pair<std::string, std::string>> metadata;  // key, and a JSON value
  std::string process_name;
  std::int64_t process_id = 0;
};

OPYARD_API void write_chrome(const Trace& trace, const ChromeOptions& options, const Sink& sink);

}  // namespace opyard::profiler
