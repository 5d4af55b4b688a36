// opyard/profiler/averages.h: averages: counts and times by name.
//
// A row's total leaves out what ran inside the same row: a function that calls itself is not
// counted twice. Its own time is what was spent in none of the spans inside it. Rows of one profile
// add up: the sum of all own times is the time within any span. All kernels of an operator are in
// its row, whose count is that of its calls.
//
// The time of a dispatch key is what was spent in kernels at it and in none of the operators and
// kernels inside them; what they called otherwise, in Python say, is theirs.
//
// Depends on: profiler/profile.h.
#pragma once

#include <cstdint>
#include <vector>

#include "opyard/keys/dispatch_key.h"
#include "opyard/profiler/profile.h"

namespace opyard::profiler {

struct AverageRow {
  SpanKind kind;
  std::uint32_t key;    // of an operator its own, not a kernel's
  std::uint32_t track;  // an example: the first span of the row
  std::uint32_t example;
  std::uint64_t count = 0;
  std::int64_t total = 0;  // nanoseconds
  std::int64_t self = 0;
  std::int64_t longest = 0;
  std::int64_t memory = 0;       // bytes allocated less bytes freed, within
  std::int64_t self_memory = 0;  // in none of the spans inside it
  std::int64_t thread_time = 0;  // of `total`, what its threads had a processor; the rest waited
  std::int64_t self_thread_time = 0;
  // Calls of Python functions and of others that it made itself: what capturing them costs it.
  std::uint64_t python_calls = 0;
  std::uint64_t other_calls = 0;
  std::uint64_t hidden_python_calls = 0;  // in its own time, if the profile is folded
  std::uint64_t hidden_other_calls = 0;
};

struct Grouping {
  int stack = 0;        // how many enclosing calls tell rows apart
  bool shapes = false;  // whether input shapes do
  bool lines = false;   // whether the lines do that calls are made from
  bool keys = false;  // whether the dispatch keys of operators' kernels do: then each kernel counts
};

// In the order of first appearance. Throws std::bad_alloc.
OPYARD_API std::vector<AverageRow> average(const Profile& profile, const Grouping& grouping);

struct KeyRow {
  DispatchKey key;
  std::uint64_t calls = 0;         // kernels that a call began with
  std::uint64_t redispatches = 0;  // kernels that another one passed the call on to
  std::int64_t self = 0;           // nanoseconds
};

// By dispatch key, the largest time first. Throws std::bad_alloc.
OPYARD_API std::vector<KeyRow> time_by_key(const Profile& profile);

}  // namespace opyard::profiler
