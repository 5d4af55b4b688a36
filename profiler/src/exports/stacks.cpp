// profiler/exports/stacks.cpp: export as collapsed stacks.
//
// [Deep] A line names a whole stack, so what a recursion writes grows with the square of its depth.
// No picture shows that many levels: beyond kMostFrames all that is deeper is one frame.
#include <algorithm>
#include <string_view>
#include <vector>

#include "json.h"
#include "opyard/profiler/call_tree.h"
#include "opyard/profiler/export.h"
#include "opyard/profiler/labels.h"

namespace opyard::profiler {
namespace {

// What separates stacks and frames is no part of a name.
std::string as_frame(std::string label) {
  for (char& c : label) {
    if (c == ' ' || c == ';' || c == '\t' || c == '\n' || c == '\r') c = '_';
  }
  return label;
}

// See [Deep].
constexpr std::uint32_t kMostFrames = 512;
constexpr std::string_view kDeeper = "[deeper_calls]";

class StackWriter {
 public:
  StackWriter(const Profile& profile, const ExportOptions& options, const Sink& sink)
      : labels_(profile, options.prefixes), nodes_(call_tree(profile)), pieces_(sink) {}

  void write() {
    find_depths();
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      if (depths_[n] > kMostFrames) continue;
      if (nodes_[n].self > 0) write_stack(n, {}, nodes_[n].self);
      if (deeper_[n] > 0) write_stack(n, kDeeper, deeper_[n]);
    }
    pieces_.flush();
  }

 private:
  void find_depths() {
    depths_.resize(nodes_.size(), 0);
    deeper_.resize(nodes_.size(), 0);
    std::vector<std::uint32_t> shown(nodes_.size(), 0);  // the innermost frame that is
    for (std::uint32_t n = 1; n < nodes_.size(); ++n) {
      const std::uint32_t parent = nodes_[n].parent;
      depths_[n] = depths_[parent] + 1;
      shown[n] = depths_[n] > kMostFrames ? shown[parent] : n;
      if (shown[n] != n) deeper_[shown[n]] += std::max<std::int64_t>(nodes_[n].self, 0);
    }
  }

  void write_stack(std::uint32_t node, std::string_view last, std::int64_t self) {
    path_.clear();
    for (std::uint32_t at = node; at != 0; at = nodes_[at].parent) path_.push_back(nodes_[at].key);
    for (std::size_t n = path_.size(); n-- > 0;) {
      pieces_.text += as_frame(labels_.label(path_[n]));
      if (n > 0) pieces_.text += ';';
    }
    if (!last.empty()) pieces_.text += ';';
    pieces_.text += last;
    pieces_.text += ' ';
    append_number(pieces_.text, self);
    pieces_.text += '\n';
    pieces_.flush_if_full();
  }

  Labels labels_;
  const std::vector<CallNode> nodes_;
  Pieces pieces_;
  std::vector<std::uint32_t> depths_;  // of each node; the root's is 0
  std::vector<std::int64_t> deeper_;   // nanoseconds of what is not shown inside a node
  std::vector<std::uint32_t> path_;
};

}  // namespace

void write_stacks(const Profile& profile, const ExportOptions& options, const Sink& sink) {
  StackWriter(profile, options, sink).write();
}

}  // namespace opyard::profiler
