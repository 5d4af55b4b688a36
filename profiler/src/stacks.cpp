// profiler/stacks.cpp: collapsed stacks.
#include <unordered_map>
#include <vector>

#include "in_order.h"
#include "json.h"
#include "opyard/profiler/export.h"
#include "opyard/profiler/labels.h"

namespace opyard::profiler {
namespace {

// A place in the tree of all stacks.
struct Node {
  std::uint32_t parent;
  std::uint32_t key;
  std::int64_t self = 0;
};

class Tree {
 public:
  void add(const Track& track) {
    std::vector<std::uint32_t> open{kRoot};
    in_order(
        track,
        [&](std::uint32_t n) {
          const Span& span = track.spans[n];
          nodes_[open.back()].self -= open.size() > 1 ? span.duration() : 0;
          open.push_back(child(open.back(), span.key));
          nodes_[open.back()].self += span.duration();
        },
        [&](std::uint32_t) { open.pop_back(); });
  }
  const std::vector<Node>& nodes() const { return nodes_; }
  static constexpr std::uint32_t kRoot = 0;

 private:
  std::uint32_t child(std::uint32_t parent, std::uint32_t key) {
    const std::uint64_t both = std::uint64_t{parent} << 32 | key;
    const auto [at, is_new] = found_.emplace(both, std::uint32_t(nodes_.size()));
    if (is_new) nodes_.push_back({parent, key});
    return at->second;
  }

  std::vector<Node> nodes_{Node{kRoot, 0}};
  std::unordered_map<std::uint64_t, std::uint32_t> found_;
};

// What separates stacks and frames is no part of a name.
std::string as_frame(std::string label) {
  for (char& c : label) {
    if (c == ' ' || c == ';' || c == '\t' || c == '\n' || c == '\r') c = '_';
  }
  return label;
}

}  // namespace

void write_stacks(const Trace& trace, const ExportOptions& options, const Sink& sink) {
  Labels labels(trace, options.prefixes);
  Tree tree;
  for (const Track& track : trace.tracks) {
    if (!track.is_task) tree.add(track);
  }
  Pieces pieces(sink);
  std::vector<std::uint32_t> path;
  for (const Node& node : tree.nodes()) {
    if (node.self <= 0) continue;
    path.clear();
    for (const Node* at = &node; at != &tree.nodes()[Tree::kRoot]; at = &tree.nodes()[at->parent]) {
      path.push_back(at->key);
    }
    for (std::size_t n = path.size(); n-- > 0;) {
      pieces.text += as_frame(labels.label(path[n]));
      pieces.text += n == 0 ? ' ' : ';';
    }
    append_number(pieces.text, node.self);
    pieces.text += '\n';
    pieces.flush_if_full();
  }
  pieces.flush();
}

}  // namespace opyard::profiler
