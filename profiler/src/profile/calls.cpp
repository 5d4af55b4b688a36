// profiler/profile/calls.cpp: callers and callees.
#include "opyard/detail/profiler/calls.h"

#include <unordered_map>
#include <utility>

#include "profile/in_order.h"

namespace opyard::profiler {
namespace {

class Calls {
 public:
  void add(const Track& track) {
    std::vector<std::size_t> open;
    in_order(
        track,
        [&](std::uint32_t n) {
          const Span& span = track.spans[n];
          if (!open.empty()) rows[open.back()].self -= span.duration();
          open.push_back(find(span.key, span.parent == kNoSpan ? 0 : track.spans[span.parent].key));
          CallRow& row = rows[open.back()];
          ++row.count;
          row.self += span.duration();
          if (open_[span.key]++ == 0) {
            ++row.outermost;
            row.total += span.duration();
          }
        },
        [&](std::uint32_t n) {
          --open_[track.spans[n].key];
          open.pop_back();
        });
  }

  std::vector<CallRow> rows;

 private:
  std::size_t find(std::uint32_t key, std::uint32_t caller) {
    const std::uint64_t both = std::uint64_t{caller} << 32 | key;
    const auto [at, is_new] = found_.emplace(both, rows.size());
    if (is_new) rows.push_back({key, caller});
    return at->second;
  }

  std::unordered_map<std::uint64_t, std::size_t> found_;
  std::unordered_map<std::uint32_t, int> open_;
};

}  // namespace

std::vector<CallRow> calls(const Profile& profile) {
  Calls all;
  for (const Track& track : profile.tracks) {
    if (!track.is_derived) all.add(track);
  }
  if (profile.sample_period_ns > 0) {
    for (CallRow& row : all.rows) row.count = row.outermost = sample_count(profile, row.total);
  }
  return std::move(all.rows);
}

}  // namespace opyard::profiler
