// profiler/profile/call_tree.cpp: call tree of a profile.
#include "opyard/profiler/call_tree.h"

#include <unordered_map>
#include <utility>

#include "profile/in_order.h"
#include "profile/thread_times.h"

namespace opyard::profiler {
namespace {

constexpr std::uint32_t kRoot = 0;

class Tree {
 public:
  void add(const Track& track) {
    std::vector<std::uint32_t> open{kRoot};
    const std::vector<std::int64_t> thread_times = thread_times_of(track);
    in_order(
        track,
        [&](std::uint32_t n) {
          const Span& span = track.spans[n];
          if (open.size() > 1) {
            nodes[open.back()].self -= span.duration();
            nodes[open.back()].thread_time -= thread_times[n];
          }
          open.push_back(child(open.back(), span.key));
          CallNode& node = nodes[open.back()];
          ++node.count;
          node.self += span.duration();
          node.thread_time += thread_times[n];
        },
        [&](std::uint32_t) { open.pop_back(); });
  }

  std::vector<CallNode> nodes{CallNode{kRoot, 0}};

 private:
  std::uint32_t child(std::uint32_t parent, std::uint32_t key) {
    const std::uint64_t both = std::uint64_t{parent} << 32 | key;
    const auto [at, is_new] = found_.emplace(both, std::uint32_t(nodes.size()));
    if (is_new) nodes.push_back({parent, key});
    return at->second;
  }

  std::unordered_map<std::uint64_t, std::uint32_t> found_;
};

}  // namespace

std::vector<CallNode> call_tree(const Profile& profile) {
  Tree tree;
  for (const Track& track : profile.tracks) {
    if (!track.is_derived) tree.add(track);
  }
  if (profile.sample_period_ns > 0) {
    for (CallNode& node : tree.nodes) node.count = sample_count(profile, node.self);
  }
  return std::move(tree.nodes);
}

}  // namespace opyard::profiler
