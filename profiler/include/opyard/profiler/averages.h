// opyard/profiler/averages.h: how often each thing ran, and how long.
//
// A row's total leaves out what ran inside the same row: a function that calls itself is not counted twice. Its own
// time is what was spent in none of the spans inside it. Rows of one trace add up: the sum of all own times
// is the time within any span.
//
// Depends on: profiler/trace.h.
#pragma once

#include <cstdint>
#include <vector>

#include "opyard/profiler/trace.h"

namespace opyard::profiler {

struct AverageRow {
  SpanKind kind;
  std::uint32_t key;
  std::uint32_t track;  // an example: the first span of the row
  std::uint32_t example;
  std::uint64_t count = 0;
  std::int64_t total = 0;  // nanoseconds
  std::int64_t self = 0;
  std::int64_t longest = 0;
  std::int64_t memory = 0;       // bytes allocated less bytes freed, within
  std::int64_t self_memory = 0;  // in none of the spans inside it
};

struct Grouping {
  int stack = 0;        // how many enclosing calls tell rows apart
  bool shapes = false;  // whether input shapes do
};

// In the order of first appearance. Throws std::bad_alloc.
OPYARD_API std::vector<AverageRow> average(const Trace& trace, const Grouping& grouping);

}  // namespace opyard::profiler
