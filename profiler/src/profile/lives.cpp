// profiler/profile/lives.cpp: numbers of the lives of memory.
//
// [Order] Threads meet an address in the order of time. At one time memory is taken before an
// operator is called with it, and given back after that.
#include "opyard/detail/profiler/lives.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>

#include "opyard/detail/profiler/memory.h"
#include "opyard/detail/profiler/shapes.h"

namespace opyard::profiler {
namespace {

constexpr std::int64_t kBefore = std::numeric_limits<std::int64_t>::min();

enum class Met : std::uint8_t { Taken, Used, GivenBack };  // see [Order]

struct Meeting {
  std::int64_t time;
  Met how;
  std::uint64_t address;
};

std::vector<Meeting> meetings_of(const Profile& profile) {
  std::vector<Meeting> all;
  for (const Track& track : profile.tracks) {
    for (const Mark& mark : track.marks) {
      if (mark.kind != MarkKind::Memory || mark.payload == kNoSpan) continue;
      const MemoryFacts facts(track.words_of(mark.payload));
      all.push_back({mark.time, facts.bytes < 0 ? Met::GivenBack : Met::Taken, facts.address});
    }
    for (const Span& span : track.spans) {
      if (!is_operator(span.kind) || span.payload == kNoSpan) continue;
      for (const std::uint64_t address : addresses_of(track.words_of(span.payload))) {
        all.push_back({span.start, Met::Used, address});
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Meeting& a, const Meeting& b) {
    return std::tie(a.time, a.how) < std::tie(b.time, b.how);
  });
  return all;
}

}  // namespace

MemoryLives::MemoryLives(const Profile& profile) {
  std::uint64_t count = 0;
  std::unordered_map<std::uint64_t, bool> is_alive;
  for (const Meeting& meeting : meetings_of(profile)) {
    bool& alive = is_alive[meeting.address];
    if (meeting.how == Met::Taken || !alive) {
      auto& lives = lives_[meeting.address];
      const bool is_first = lives.empty() && meeting.how != Met::Taken;
      lives.emplace_back(is_first ? kBefore : meeting.time, ++count);
    }
    alive = meeting.how != Met::GivenBack;
  }
}

std::uint64_t MemoryLives::at(std::uint64_t address, std::int64_t time) const noexcept {
  const auto found = lives_.find(address);
  if (found == lives_.end()) return 0;
  const auto& lives = found->second;
  const auto next =
      std::upper_bound(lives.begin(), lives.end(), time,
                       [](std::int64_t at, const auto& life) { return at < life.first; });
  return next == lives.begin() ? 0 : std::prev(next)->second;
}

}  // namespace opyard::profiler
