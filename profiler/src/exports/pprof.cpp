// profiler/exports/pprof.cpp: export as a profile of pprof, which is protocol buffers.
//
// The format is https://github.com/google/pprof/blob/main/proto/profile.proto. A sample is a stack
// with how often it was called, and its own time; functions and stacks are numbered by keys and by
// nodes of the tree of calls. Beyond kMostFrames all that is deeper is one frame, since a sample
// names its whole stack.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exports/protobuf.h"
#include "json.h"
#include "opyard/profiler/call_tree.h"
#include "opyard/profiler/export.h"
#include "opyard/profiler/labels.h"
#include "opyard/profiler/quality.h"

namespace opyard::profiler {
namespace {

constexpr std::size_t kMostFramesOfSample = 512;

// Numbers of fields in profile.proto.
enum ProfileField {
  kSampleType = 1,
  kSample = 2,
  kLocation = 4,
  kFunction = 5,
  kString = 6,
  kTime = 9,
  kDuration = 10,
  kComment = 13,
  kDefaultSampleType = 14
};

class PprofWriter {
 public:
  PprofWriter(const Profile& profile, const ExportOptions& options, const Sink& sink)
      : profile_(profile),
        options_(options),
        labels_(profile, options.prefixes),
        nodes_(call_tree(profile)),
        pieces_(sink) {}

  void write() {
    string("");  // number 0 is the empty one
    const std::uint64_t calls = string("calls");
    const std::uint64_t time = string("time");
    put(kSampleType, value_type(calls, string("count")));
    put(kSampleType, value_type(time, string("nanoseconds")));
    write_samples();
    for (const std::uint32_t key : functions_) write_function(key);
    if (has_deeper_) write_deeper();
    Message facts;
    facts.number(kTime, profile_.unix_begin_ns);
    facts.number(kDuration, std::uint64_t(profile_.duration));
    facts.number(kDefaultSampleType, time);
    facts.number(kComment, string("process: " + options_.process_name));
    facts.number(kComment, string("dataQuality: " + quality_json(profile_)));
    for (const auto& [key, value] : options_.metadata) {
      facts.number(kComment, string(key + ": " + value));
    }
    pieces_.text += facts.bytes;
    pieces_.flush();
  }

 private:
  void put(int field, const Message& message) {
    Message whole;
    whole.message(field, message);
    pieces_.text += whole.bytes;
    pieces_.flush_if_full();
  }

  // The number of a text, which is written at its first use.
  std::uint64_t string(std::string_view text) {
    const auto [at, is_new] = strings_.emplace(std::string(text), strings_.size());
    if (is_new) {
      Message whole;
      whole.text(kString, text);
      pieces_.text += whole.bytes;
    }
    return at->second;
  }

  static Message value_type(std::uint64_t type, std::uint64_t unit) {
    Message made;
    made.number(1, type);
    made.number(2, unit);
    return made;
  }

  // What is deeper than a sample goes to the innermost frame that is shown.
  void write_samples() {
    std::vector<std::size_t> depths(nodes_.size(), 0);
    std::vector<std::uint32_t> shown(nodes_.size(), 0);
    std::vector<std::int64_t> deeper_time(nodes_.size(), 0);
    std::vector<std::uint64_t> deeper_calls(nodes_.size(), 0);
    for (std::uint32_t n = 1; n < nodes_.size(); ++n) {
      const CallNode& node = nodes_[n];
      depths[n] = depths[node.parent] + 1;
      shown[n] = depths[n] > kMostFramesOfSample ? shown[node.parent] : n;
      functions_.insert(node.key);
      if (shown[n] == n) continue;
      deeper_time[shown[n]] += std::max<std::int64_t>(node.self, 0);
      deeper_calls[shown[n]] += node.count;
    }
    for (std::uint32_t n = 1; n < nodes_.size(); ++n) {
      if (shown[n] != n) continue;
      write_sample(n, false, nodes_[n].count, std::max<std::int64_t>(nodes_[n].self, 0));
      if (deeper_calls[n] > 0) write_sample(n, true, deeper_calls[n], deeper_time[n]);
    }
  }

  void write_sample(std::uint32_t node, bool is_deeper, std::uint64_t calls, std::int64_t time) {
    Message stack;  // from the innermost on
    if (is_deeper) {
      has_deeper_ = true;
      stack.varint(kDeeperId);
    }
    for (std::uint32_t at = node; at != 0; at = nodes_[at].parent) stack.varint(nodes_[at].key + 1);
    Message values;
    values.varint(calls);
    values.varint(std::uint64_t(time));
    Message sample;
    sample.message(1, stack);
    sample.message(2, values);
    put(kSample, sample);
  }

  // A location is a function at its first line: lines of calls are in no profile.
  void write_function(std::uint32_t key) {
    const Name& name = labels_.name(key);
    const std::string& label = labels_.label(key);
    const std::string& shown = name.file.empty() ? label : name.text;
    write_place(key + std::uint64_t{1}, shown, name.qualified.empty() ? shown : name.qualified,
                name.file, std::uint64_t(std::max(name.line, 0)));
  }
  void write_deeper() { write_place(kDeeperId, "[deeper calls]", "[deeper calls]", "", 0); }

  void write_place(std::uint64_t id, std::string_view name, std::string_view qualified,
                   std::string_view file, std::uint64_t first_line) {
    Message function;
    function.number(1, id);
    function.number(2, string(name));
    function.number(3, string(qualified));
    function.number(4, string(file));
    function.number(5, first_line);
    put(kFunction, function);
    Message line;
    line.number(1, id);
    line.number(2, first_line);
    Message location;
    location.number(1, id);
    location.message(4, line);
    put(kLocation, location);
  }

  static constexpr std::uint64_t kDeeperId = std::uint64_t{1} << 40;  // no key's

  const Profile& profile_;
  const ExportOptions& options_;
  Labels labels_;
  const std::vector<CallNode> nodes_;
  Pieces pieces_;
  std::unordered_map<std::string, std::uint64_t> strings_;
  std::set<std::uint32_t> functions_;  // keys that samples have
  bool has_deeper_ = false;
};

}  // namespace

void write_pprof(const Profile& profile, const ExportOptions& options, const Sink& sink) {
  PprofWriter(profile, options, sink).write();
}

}  // namespace opyard::profiler
