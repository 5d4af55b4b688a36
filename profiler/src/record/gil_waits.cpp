// profiler/record/gil_waits.cpp: waiting for the lock of an interpreter, as a source.
#include <atomic>

#include "opyard/detail/interpreter/gil_wait.h"
#include "opyard/profiler/names.h"
#include "opyard/profiler/session.h"

namespace opyard::profiler {
namespace {

std::atomic<std::uint32_t> wait_key{0};

void record_wait(bool begins) noexcept {
  record(begins ? enter_of(SpanKind::GilWait) : exit_of(SpanKind::GilWait),
         wait_key.load(std::memory_order_relaxed));
}

bool wants_waits(const SessionOptions& options) { return options.gil_waits; }
void start_waits(Window&, const SessionOptions&) {
  if (wait_key.load() == 0) {
    Name name;
    name.text = "waiting for the GIL";
    name.kind = "gil";
    wait_key.store(add_name(std::move(name)));
  }
  gil_wait_listener.store(&record_wait, std::memory_order_release);
}
void stop_waits(SourceReport&) { gil_wait_listener.store(nullptr, std::memory_order_release); }

constexpr Source kSource{"gil waits", wants_waits, start_waits, stop_waits};
[[maybe_unused]] const bool registered = (register_source(&kSource), true);

}  // namespace
}  // namespace opyard::profiler
