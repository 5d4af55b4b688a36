// opyard/profiler/clock.h: a cheap timestamp counter, and its conversion to nanoseconds.
//
// The clock is two thirds of what an event costs. The processor's counter takes 8 ns, the
// system's clock 20 (measured). The counter is used if the processor says that its rate never
// changes and the kernel itself keeps time by it; else the system's clock is.
//
// Ticks become nanoseconds after capture, by two pairs of readings of both clocks. Within a
// thread the order of ticks is exact; two threads must not be compared below 0.2 microseconds.
//
// Depends on: base/export.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "opyard/base/export.h"

namespace opyard::profiler {

// Of the system, the counter of the processor, or one that tests set.
enum class ClockSource : std::uint8_t { System, Counter, Test };

// A moment by the event clock, the system's monotonic clock and the calendar.
struct ClockPair {
  std::uint64_t ticks;
  std::uint64_t monotonic_ns;
};

// Written while libopyard_profiler is loaded, and by tests.
extern OPYARD_API ClockSource clock_source;
// Replaces the clock by a function of a test; null puts the real one back. While nothing captures.
OPYARD_API void set_test_clock(std::uint64_t (*read)());
OPYARD_API std::uint64_t read_slow_clock() noexcept;

inline std::uint64_t read_counter() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return 0;  // never chosen
#endif
}

inline std::uint64_t now_ticks() noexcept {
  if (__builtin_expect(clock_source == ClockSource::Counter, 1)) return read_counter();
  return read_slow_clock();
}

OPYARD_API ClockPair read_clock_pair() noexcept;
OPYARD_API std::uint64_t unix_time_ns() noexcept;
// What the clock of this process is called.
OPYARD_API const char* clock_name() noexcept;
// How many ticks a time takes. Waits for a fifth of a millisecond if the process is younger.
OPYARD_API std::uint64_t ticks_of(std::uint64_t ns) noexcept;

// Ticks as nanoseconds of the monotonic clock.
class TickConverter {
 public:
  TickConverter(ClockPair first, ClockPair last) noexcept
      : first_(first),
        ns_per_tick_(last.ticks > first.ticks ? double(last.monotonic_ns - first.monotonic_ns) /
                                                    double(last.ticks - first.ticks)
                                              : 1.0) {}
  // Of ticks that no clock gave, as of a damaged capture, any number.
  std::int64_t monotonic_ns(std::uint64_t ticks) const noexcept {
    constexpr double kMost = 4e18;
    const auto since = std::int64_t(ticks - first_.ticks);
    const double ns = std::clamp(double(since) * ns_per_tick_, -kMost, kMost);
    return std::int64_t(first_.monotonic_ns + std::uint64_t(std::int64_t(ns)));
  }
  double ns_per_tick() const noexcept { return ns_per_tick_; }

 private:
  ClockPair first_;
  double ns_per_tick_;
};

}  // namespace opyard::profiler
