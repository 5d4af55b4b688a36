// profiler/capture/ring.cpp: the ring, and its eviction of sessions.
#include "opyard/profiler/ring.h"

#include <atomic>
#include <limits>
#include <utility>

#include "capture/ring_blocks.h"
#include "capture/sources.h"
#include "capture/turn.h"
#include "opyard/base/error.h"

namespace opyard::profiler {
namespace {

std::atomic<Ring*> the_ring{nullptr};

}  // namespace

bool Ring::is_on() noexcept { return the_ring.load(std::memory_order_relaxed) != nullptr; }

Ring::Ring(const SessionOptions& options, const RingBounds& bounds)
    : options_(options), bounds_(bounds) {
  const Turn turn;
  Ring* none = nullptr;
  OPYARD_CHECK(the_ring.compare_exchange_strong(none, this), BadRegistration,
               "a flight recorder is on already; a process has one at a time: stop it first; "
               "opyard.profiler.active_recorder() has it, if Python started it");
  begin_ring_blocks(
      bounds.bytes / sizeof(BlockData),
      bounds.ns == 0 ? std::numeric_limits<std::uint64_t>::max() : ticks_of(bounds.ns));
  try {
    if (!Session::has_profile()) start_sources();
  } catch (...) {
    ended_ = true;
    the_ring.store(nullptr);
    end_ring_blocks();
    throw;
  }
}

Ring::~Ring() {
  try {
    end();
  } catch (const std::exception&) {  // out of memory for a report that no one reads
  }
}

// What is open is asked for when the ring is dumped.
void Ring::start_sources() {
  Window window;
  start_all(options_, window, started_);
}

void Ring::stop_sources() {
  SourceReport report;
  stop_all(started_, report);
}

void Ring::pause() {
  Ring* const ring = the_ring.load();
  if (ring != nullptr) ring->stop_sources();
}

void Ring::resume() {
  Ring* const ring = the_ring.load();
  if (ring != nullptr && ring->started_.empty()) ring->start_sources();
}

Capture Ring::dump() {
  const Turn turn;
  OPYARD_CHECK(!ended_, BadRegistration, "the flight recorder has been stopped");
  Window window;
  SourceReport report;
  for (const Source* const source : wanted_sources(options_)) {
    if (source->describe != nullptr) source->describe(window, report);
  }
  Capture capture = copy_ring_blocks(window);
  capture.thread_names = std::move(report.thread_names);
  capture.notes = std::move(report.notes);
  return capture;
}

void Ring::end() {
  if (ended_) return;
  const Turn turn;
  if (std::exchange(ended_, true)) return;
  the_ring.store(nullptr);
  end_ring_blocks();
  stop_sources();
}

}  // namespace opyard::profiler
