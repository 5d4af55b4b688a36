// opyard/profiler/call_tree.h: all calls of a profile as one tree, in which equal stacks are one
// place.
//
// Depends on: profiler/profile.h.
#pragma once

#include <cstdint>
#include <vector>

#include "opyard/profiler/profile.h"

namespace opyard::profiler {

// Spans of one key that were called by the same stack.
struct CallNode {
  std::uint32_t parent;          // earlier in the list; of the root 0
  std::uint32_t key;             // 0 for the root alone
  std::uint64_t count = 0;       // of calls; of a sampled profile, of samples in the stack itself
  std::int64_t self = 0;         // nanoseconds
  std::int64_t thread_time = 0;  // of them, with a processor; the rest waited
};

// The root comes first. Throws std::bad_alloc.
OPYARD_API std::vector<CallNode> call_tree(const Profile& profile);

}  // namespace opyard::profiler
