// profiler/capture/session.cpp: starting and stopping a session.
#include "opyard/profiler/session.h"

#include <atomic>
#include <optional>

#include "capture/file_blocks.h"
#include "capture/journal.h"
#include "capture/sources.h"
#include "capture/turn.h"
#include "opyard/base/error.h"
#include "opyard/base/warning.h"
#include "opyard/detail/profiler/files.h"
#include "opyard/profiler/ring.h"

namespace opyard::profiler {
namespace {

// The thread that started the session that is active, or 0.
std::atomic<std::uint64_t> active_thread{0};

void note_lost_ends(const std::vector<LostEnds>& all, std::vector<StartStack>& stacks) {
  for (const LostEnds& lost : all) {
    for (StartStack& stack : stacks) {
      if (stack.handle == lost.handle && stack.native_id == lost.native_id) {
        stack.lost_ends = lost.frames;
      }
    }
  }
}

}  // namespace

bool Session::has_profile() noexcept { return active_thread.load() != 0; }
bool Session::is_active() noexcept { return has_profile() || Ring::is_on(); }

Session::Session(const SessionOptions& options) {
  const auto self = std::uint64_t(pthread_self());
  std::uint64_t other = 0;
  if (!active_thread.compare_exchange_strong(other, self)) {
    fail(ErrorKind::BadRegistration,
         other == self ? "Profiler is already enabled on this thread. Stop the profile that is "
                         "active before starting another: opyard.profiler.active() has it and "
                         "stop_active() ends it, "
                         "if Python started it."
                       : "There is already an active Python tracer. Refusing to register profile "
                         "functions. A process has one profile at a time: stop the one that "
                         "another thread started first; opyard.profiler.active() has it and "
                         "stop_active() ends it, "
                         "if Python started it.");
  }
  std::optional<Turn> turn;
  try {
    turn.emplace();
  } catch (...) {
    active_thread.store(0);
    throw;
  }
  try {
    Ring::pause();
    window_ = std::make_unique<Window>();
    if (!options.folder.empty()) begin_files(options.folder, options.program);
    start_all(options, *window_, started_);
    if (writes_files()) write_start_stacks(window_->start_stacks());
  } catch (...) {
    give_up();
    throw;
  }
}

void Session::give_up() noexcept {
  SourceReport report;
  for (const auto& step :
       {+[](Session& self, SourceReport& said) { stop_all(self.started_, said); },
        +[](Session& self, SourceReport&) { self.window_.reset(); },
        +[](Session&, SourceReport&) { end_files(Capture()); },
        +[](Session&, SourceReport&) { Ring::resume(); }}) {
    try {
      step(*this, report);
    } catch (const std::exception&) {  // the others must be done, too
    }
  }
  active_thread.store(0);
}

Capture Session::end() {
  const Turn turn;
  OPYARD_CHECK(window_ != nullptr, BadRegistration, "the session has ended already");
  SourceReport report;
  stop_all(started_, report);
  Capture capture = window_->end();
  note_lost_ends(report.lost_ends, capture.start_stacks);
  capture.thread_names = std::move(report.thread_names);
  capture.notes = std::move(report.notes);
  const TickConverter clock(capture.first_pair, capture.end);
  for (LineTime& line : report.lines) {
    line.time = std::uint64_t(double(line.time) * clock.ns_per_tick());
  }
  capture.lines = std::move(report.lines);
  if (const std::uint64_t beside = blocks_beside_file(); writes_files() && beside != 0) {
    capture.notes.emplace_back("blocks that had no room in a file", beside);
  }
  end_files(capture);
  window_.reset();
  Ring::resume();
  active_thread.store(0);
  return capture;
}

Session::~Session() {
  if (window_ == nullptr) return;
  std::optional<Turn> turn;
  try {
    turn.emplace();
  } catch (const Error&) {  // it is this thread's already
  }
  give_up();
  warn_late(
      "`PythonTracer::stop()` was not called. The profile was stopped, and its events are lost.");
}

}  // namespace opyard::profiler
