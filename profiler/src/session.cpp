// profiler/session.cpp: starting and stopping what records.
#include "opyard/profiler/session.h"

#include <algorithm>
#include <mutex>

#include "opyard/base/error.h"
#include "opyard/base/warning.h"
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

// The thread that started the session that is active, or 0.
std::atomic<std::uint64_t> active_thread{0};

std::vector<const Source*> wanted_sources(const SessionOptions& options) {
  Sources& all = sources();
  const std::lock_guard lock(all.mutex);
  std::vector<const Source*> wanted;
  for (const Source* const source : all.list) {
    if (source->wanted(options)) wanted.push_back(source);
  }
  return wanted;
}

}  // namespace

void register_source(const Source* source) {
  Sources& all = sources();
  const std::lock_guard lock(all.mutex);
  if (std::find(all.list.begin(), all.list.end(), source) == all.list.end()) {
    all.list.push_back(source);
  }
}

bool Session::is_active() noexcept { return active_thread.load() != 0; }

Session::Session(const SessionOptions& options) {
  const auto self = std::uint64_t(pthread_self());
  std::uint64_t other = 0;
  if (!active_thread.compare_exchange_strong(other, self)) {
    fail(ErrorKind::BadRegistration,
         other == self ? "Profiler is already enabled on this thread. Stop the profile that is "
                         "active before starting another."
                       : "There is already an active Python tracer. Refusing to register profile "
                         "functions. A process has one profile at a time: stop the one that "
                         "another thread started first.");
  }
  try {
    const std::vector<const Source*> wanted = wanted_sources(options);
    started_.reserve(wanted.size());
    window_ = std::make_unique<Window>();
    for (const Source* const source : wanted) {
      source->start(*window_, options);
      started_.push_back(source);
    }
  } catch (...) {
    give_up();
    throw;
  }
}

void Session::stop_sources(SourceReport& report) {
  while (!started_.empty()) {
    const Source* const source = started_.back();
    started_.pop_back();
    source->stop(report);
  }
}

void Session::give_up() noexcept {
  try {
    SourceReport report;
    while (!started_.empty()) {
      try {
        stop_sources(report);
      } catch (const std::exception&) {  // the others must stop, too
      }
    }
  } catch (...) {
  }
  window_.reset();
  active_thread.store(0);
}

Recording Session::end() {
  OPYARD_CHECK(window_ != nullptr, BadRegistration, "the session has ended already");
  SourceReport report;
  stop_sources(report);
  Recording recording = window_->end();
  recording.thread_names = std::move(report.thread_names);
  recording.notes = std::move(report.notes);
  window_.reset();
  active_thread.store(0);
  return recording;
}

Session::~Session() {
  if (window_ == nullptr) return;
  give_up();
  warn_late(
      "`PythonTracer::stop()` was not called. The profile was stopped, and its events are lost.");
}

}  // namespace opyard::profiler
