// profiler/profile/sample_spans.h: spans of sampled stacks.
//
// A slice of time becomes spans that nest as its stacks do. The times of a thread in a slice are
// laid one behind the other: a span is as long as what was sampled in it, its children come first
// and its own time last. So a bar says how long, within its slice, and not when.
//
// Depends on: profiler/profile.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "opyard/profiler/profile.h"

namespace opyard::profiler {

// A place in a tree of stacks. `track` is of a thread's root, whose parent is 0.
struct SampledNode {
  std::uint32_t parent;
  std::uint32_t key;
  SpanKind kind;
  std::uint32_t track;
};

class SampleSpans {
 public:
  // Adds to the tracks that the profile has.
  explicit SampleSpans(Profile& profile) : profile_(profile), ends_(profile.tracks.size(), 0) {}

  void begin_slice(std::int64_t begin) {
    begin_ = begin;
    times_.clear();
  }
  // Nodes in ascending order: a parent has a lower number than its children.
  void add(std::uint32_t node, std::int64_t wall, std::int64_t cpu) {
    times_.push_back({node, wall, wall, cpu, kNone, kNone});
  }
  // `describe` gives the SampledNode of a number.
  template <typename Describe>
  void end_slice(const Describe& describe) {
    add_parents(describe);
    for (std::uint32_t n = 0; n < times_.size(); ++n) {
      const SampledNode node = describe(times_[n].node);
      if (node.parent == 0) write(n, node.track, describe);
    }
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Place {
    std::uint32_t node;
    std::int64_t self;
    std::int64_t total;
    std::int64_t cpu;
    std::uint32_t first_child;  // a number of a place
    std::uint32_t next_sibling;
  };

  // Those that no sample was taken in themselves, and links from each to its children.
  template <typename Describe>
  void add_parents(const Describe& describe);
  template <typename Describe>
  void write(std::uint32_t root, std::uint32_t track, const Describe& describe);

  Profile& profile_;
  std::vector<std::int64_t> ends_;  // of each track: where its last span ends
  std::int64_t begin_ = 0;
  std::vector<Place> times_;
  std::vector<std::uint32_t> seen_;  // of each node, the last slice that has it
  std::uint32_t slice_ = 0;
};

template <typename Describe>
void SampleSpans::add_parents(const Describe& describe) {
  ++slice_;
  const auto is_new = [&](std::uint32_t node) {
    if (node >= seen_.size()) seen_.resize(std::size_t(node) * 3 / 2 + 64, 0);
    return std::exchange(seen_[node], slice_) != slice_;
  };
  const std::size_t sampled = times_.size();
  for (std::size_t n = 0; n < sampled; ++n) is_new(times_[n].node);
  for (std::size_t n = 0; n < sampled; ++n) {
    std::uint32_t at = describe(times_[n].node).parent;
    for (; at != 0 && is_new(at); at = describe(at).parent) {
      times_.push_back({at, 0, 0, 0, kNone, kNone});
    }
  }
  const auto before = [](const Place& a, const Place& b) { return a.node < b.node; };
  std::sort(times_.begin(), times_.end(), before);
  // From the last on, so that totals are whole when a parent takes them, and lists begin with the
  // first child.
  for (std::size_t n = times_.size(); n-- > 0;) {
    Place& place = times_[n];
    const std::uint32_t parent = describe(place.node).parent;
    if (parent == 0) continue;
    const Place wanted{parent, 0, 0, 0, kNone, kNone};
    const auto at = std::lower_bound(times_.begin(), times_.end(), wanted, before);
    at->total += place.total;
    place.next_sibling = at->first_child;
    at->first_child = std::uint32_t(n);
  }
}

template <typename Describe>
void SampleSpans::write(std::uint32_t root, std::uint32_t number, const Describe& describe) {
  Track& track = profile_.tracks[number];
  std::int64_t time = std::max(ends_[number], begin_);
  std::uint64_t taken = track.thread_times.empty() ? 0 : track.thread_times.back().taken;
  track.thread_times.push_back({time, taken});
  const auto spend = [&](const Place& place) {
    if (place.self == 0) return;
    time += place.self;
    taken += std::uint64_t(place.cpu);
    track.thread_times.push_back({time, taken});
  };
  struct Open {
    std::uint32_t place;
    std::uint32_t span;
    std::uint32_t child;  // the next one to be written
  };
  std::vector<Open> open{{root, kNoSpan, times_[root].first_child}};
  while (!open.empty()) {
    Open& top = open.back();
    if (top.child == kNone) {
      spend(times_[top.place]);
      if (top.span != kNoSpan) track.spans[top.span].end = time;
      open.pop_back();
      continue;
    }
    const std::uint32_t child = top.child;
    const std::uint32_t parent = top.span;
    top.child = times_[child].next_sibling;
    const SampledNode node = describe(times_[child].node);
    track.spans.push_back({time, time, node.key, parent, kNoSpan, node.kind, 0, 0});
    open.push_back({child, std::uint32_t(track.spans.size() - 1), times_[child].first_child});
  }
  ends_[number] = time;
}

}  // namespace opyard::profiler
