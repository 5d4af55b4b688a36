// opyard/detail/profiler/calls.h: callers and callees, as in cProfile's tables.
//
// Depends on: profiler/profile.h.
#pragma once

#include <cstdint>
#include <vector>

#include "opyard/profiler/profile.h"

namespace opyard::profiler {

// All calls of one thing by another one. `caller` is 0 for what was called by nothing that was
// captured.
struct CallRow {
  std::uint32_t key;
  std::uint32_t caller;
  std::uint64_t count = 0;
  std::uint64_t outermost = 0;  // of those, how many were inside no other call of the same thing
  std::int64_t self = 0;        // nanoseconds
  std::int64_t total = 0;       // of the outermost ones
};

// In the order of first appearance. Throws std::bad_alloc.
OPYARD_API std::vector<CallRow> calls(const Profile& profile);

}  // namespace opyard::profiler
