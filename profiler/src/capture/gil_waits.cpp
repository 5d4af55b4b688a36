// profiler/capture/gil_waits.cpp: event source: waits for the GIL.
//
// The gate has one listener; it captures, tells a tracer, or both.
#include "opyard/profiler/gil_waits.h"

#include <atomic>

#include "opyard/detail/interpreter/gil_wait.h"
#include "opyard/profiler/names.h"
#include "opyard/profiler/session.h"

namespace opyard::profiler {
namespace {

std::atomic<std::uint32_t> wait_key{0};
std::atomic<bool> captures{false};
std::atomic<void (*)() noexcept> taken_handler{nullptr};

void hear_wait(bool begins) noexcept {
  if (captures.load(std::memory_order_relaxed)) {
    append_event(begins ? enter_of(SpanKind::GilWait) : exit_of(SpanKind::GilWait),
                 wait_key.load(std::memory_order_relaxed));
  }
  if (begins) return;
  if (void (*const tell)() noexcept = taken_handler.load(std::memory_order_acquire)) tell();
}

void listen_if_wanted() noexcept {
  const bool wanted = captures.load() || taken_handler.load() != nullptr;
  gil_wait_listener.store(wanted ? &hear_wait : nullptr, std::memory_order_release);
}

bool wants_waits(const SessionOptions& options) { return options.gil_waits; }
void start_waits(Window&, const SessionOptions&) {
  if (wait_key.load() == 0) {
    Name name;
    name.text = "waiting for the GIL";
    name.kind = "gil";
    wait_key.store(add_name(std::move(name)));
  }
  captures.store(true);
  listen_if_wanted();
}
void stop_waits(SourceReport&) {
  captures.store(false);
  listen_if_wanted();
}

constexpr Source kWaitSource{"gil waits", wants_waits, start_waits, stop_waits};
[[maybe_unused]] const bool waits_registered = (register_source(&kWaitSource), true);

}  // namespace

void hear_of_taken_gils(void (*function)() noexcept) noexcept {
  taken_handler.store(function);
  listen_if_wanted();
}

}  // namespace opyard::profiler
