// opyard/detail/profiler/lives.h: lives of memory: which tensors of a profile were on the same one.
//
// An address is used again after its memory was given back, so it says little on its own. A life
// begins when memory is taken, or when an address is first met that was taken before the profile,
// and ends when it is given back. Lives are numbered from 1 in the order in which they are met.
//
// Depends on: profiler/profile.h.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "opyard/profiler/profile.h"

namespace opyard::profiler {

class OPYARD_API MemoryLives {
 public:
  explicit MemoryLives(const Profile& profile);
  // The life of an address at a time; 0 if nothing of the profile met it.
  std::uint64_t at(std::uint64_t address, std::int64_t time) const noexcept;

 private:
  // Of each address the lives by their begin.
  std::unordered_map<std::uint64_t, std::vector<std::pair<std::int64_t, std::uint64_t>>> lives_;
};

}  // namespace opyard::profiler
