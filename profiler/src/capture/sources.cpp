// profiler/capture/sources.cpp: starting and stopping event sources.
#include "capture/sources.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include "opyard/detail/base/mutex.h"

namespace opyard::profiler {
namespace {

struct Sources {
  Mutex mutex{LockRank::ProfilerSources};
  std::vector<const Source*> list;
};
Sources& sources() {
  static Sources& all = *new Sources;
  return all;
}

}  // namespace

void register_source(const Source* source) {
  Sources& all = sources();
  const std::lock_guard lock(all.mutex);
  if (std::find(all.list.begin(), all.list.end(), source) == all.list.end()) {
    all.list.push_back(source);
  }
}

std::vector<const Source*> wanted_sources(const SessionOptions& options) {
  Sources& all = sources();
  const std::lock_guard lock(all.mutex);
  std::vector<const Source*> wanted;
  for (const Source* const source : all.list) {
    if (source->wanted(options)) wanted.push_back(source);
  }
  return wanted;
}

void start_all(const SessionOptions& options, Window& window, std::vector<const Source*>& started) {
  try {
    const std::vector<const Source*> wanted = wanted_sources(options);
    started.reserve(wanted.size());
    for (const Source* const source : wanted) {
      source->start(window, options);
      started.push_back(source);
    }
  } catch (...) {
    const std::exception_ptr failure = std::current_exception();
    try {
      SourceReport report;
      stop_all(started, report);
    } catch (const std::exception&) {  // what failed first is said
    }
    std::rethrow_exception(failure);
  }
}

void stop_all(std::vector<const Source*>& started, SourceReport& report) {
  std::exception_ptr failure;
  while (!started.empty()) {
    const Source* const source = started.back();
    started.pop_back();
    try {
      source->stop(report);
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace opyard::profiler
