// profiler/capture/clock.cpp: clock choice and calibration.
#include "opyard/profiler/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <cstdio>
#include <cstring>

namespace opyard::profiler {
namespace {

std::uint64_t (*test_clock)() = nullptr;

std::uint64_t system_ns(clockid_t clock) noexcept {
  timespec time{};
  clock_gettime(clock, &time);
  return std::uint64_t(time.tv_sec) * 1'000'000'000u + std::uint64_t(time.tv_nsec);
}

// Whether the kernel keeps time by the counter: it gives that up if the processors disagree.
bool kernel_trusts_counter() {
  std::FILE* const file =
      std::fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
  if (file == nullptr) return false;
  char name[32] = {};
  const bool read = std::fgets(name, sizeof name, file) != nullptr;
  std::fclose(file);
#if defined(__x86_64__)
  return read && std::strncmp(name, "tsc", 3) == 0;
#else
  return read && std::strncmp(name, "arch_sys_counter", 16) == 0;
#endif
}

bool counter_rate_is_constant() {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
#elif defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

ClockSource choose_source() {
  return counter_rate_is_constant() && kernel_trusts_counter() ? ClockSource::Counter
                                                               : ClockSource::System;
}

}  // namespace

ClockSource clock_source = choose_source();

void set_test_clock(std::uint64_t (*read)()) {
  test_clock = read;
  clock_source = read == nullptr ? choose_source() : ClockSource::Test;
}

std::uint64_t read_slow_clock() noexcept {
  return clock_source == ClockSource::Test ? test_clock() : system_ns(CLOCK_MONOTONIC);
}

// The pair whose two counter readings are closest together: an interrupt between them would be an
// error of both.
ClockPair read_clock_pair() noexcept {
  if (clock_source != ClockSource::Counter) {
    const std::uint64_t now = read_slow_clock();
    return {now, now};
  }
  ClockPair best{};
  std::uint64_t least = ~std::uint64_t{0};
  for (int n = 0; n < 5; ++n) {
    const std::uint64_t before = read_counter();
    const std::uint64_t monotonic = system_ns(CLOCK_MONOTONIC);
    const std::uint64_t after = read_counter();
    if (after - before >= least) continue;
    least = after - before;
    best = {before + least / 2, monotonic};
  }
  return best;
}

std::uint64_t ticks_of(std::uint64_t ns) noexcept {
  if (clock_source != ClockSource::Counter) return ns;
  static const ClockPair first = read_clock_pair();
  ClockPair now = read_clock_pair();
  while (now.monotonic_ns - first.monotonic_ns < 200'000) now = read_clock_pair();
  const double rate =
      double(now.ticks - first.ticks) / double(now.monotonic_ns - first.monotonic_ns);
  return std::uint64_t(double(ns) * rate);
}

std::uint64_t unix_time_ns() noexcept { return system_ns(CLOCK_REALTIME); }

const char* clock_name() noexcept {
  switch (clock_source) {
    case ClockSource::Counter:
#if defined(__x86_64__)
      return "rdtsc";
#else
      return "cntvct_el0";
#endif
    case ClockSource::System:
      return "clock_gettime(CLOCK_MONOTONIC)";
    case ClockSource::Test:
      return "test";
  }
  return "";
}

}  // namespace opyard::profiler
