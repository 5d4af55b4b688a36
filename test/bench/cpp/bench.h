// test/bench/cpp/bench.h: shared parts of the C++ benchmarks.
//
// A benchmark is registered as "<row>/<side>", side being `floor` or `ours`; rows.py knows the
// rows and their budgets. Both sides of a row run the same loop from here.
//
// Depends on: opyard/library.h, Google Benchmark.
#pragma once

#include <benchmark/benchmark.h>
#include <sched.h>
#include <x86intrin.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "opyard/library.h"

namespace opyard::bench {

// So many copies of the measured statement are in a loop, so that the loop is not measured.
inline constexpr int kCopies = 8;

template <int... copy, typename Body>
[[gnu::always_inline]] inline void repeat(std::integer_sequence<int, copy...>, Body& body) {
  ((static_cast<void>(copy), body()), ...);
}

template <typename Body>
[[gnu::always_inline]] inline void measure(benchmark::State& state, Body&& body) {
  while (state.KeepRunningBatch(kCopies)) {
    repeat(std::make_integer_sequence<int, kCopies>(), body);
  }
}

// The same with a fence after each statement, so that none overlaps the next.
template <typename Body>
[[gnu::always_inline]] inline void measure_serialised(benchmark::State& state, Body&& body) {
  measure(state, [&] {
    body();
    _mm_lfence();
  });
}

// Keeps the compiler from knowing a pointer's value, as if it had been loaded from elsewhere.
template <typename T>
[[gnu::always_inline]] inline T* hidden(T* pointer) {
  asm volatile("" : "+r"(pointer));
  return pointer;
}

// The thread `index` of a benchmark takes the allowed processor of that index for itself.
inline void pin_thread(int index) {
  static const cpu_set_t allowed = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  int wanted = index % CPU_COUNT(&allowed);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || wanted-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

// A CPU tensor of four floats.
inline Tensor small_tensor() {
  const std::int64_t sizes[] = {4};
  return Tensor::empty(sizes);
}

// Names in random order, the same in every run, too long for a branch predictor to learn.
inline std::vector<std::uint8_t> random_order(int below) {
  std::vector<std::uint8_t> order(std::size_t{1} << 16);
  std::uint64_t state = 0x9e3779b97f4a7c15;
  for (auto& entry : order) {
    state = state * 6364136223846793005 + 1442695040888963407;
    entry = std::uint8_t((state >> 33) % std::uint64_t(below));
  }
  return order;
}

}  // namespace opyard::bench
