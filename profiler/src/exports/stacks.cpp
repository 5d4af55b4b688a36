// profiler/exports/stacks.cpp: collapsed stacks.
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

}  // namespace

void write_stacks(const Trace& trace, const ExportOptions& options, const Sink& sink) {
  Labels labels(trace, options.prefixes);
  const std::vector<CallNode> nodes = call_tree(trace);
  Pieces pieces(sink);
  std::vector<std::uint32_t> path;
  for (const CallNode& node : nodes) {
    if (node.self <= 0) continue;
    path.clear();
    for (const CallNode* at = &node; at != &nodes.front(); at = &nodes[at->parent]) {
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
