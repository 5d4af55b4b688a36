// profiler/averages.cpp: how often each thing ran, and how long.
#include "opyard/profiler/averages.h"

#include <cstring>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "opyard/profiler/names.h"

namespace opyard::profiler {
namespace {

// What tells rows apart, as bytes: kind, key, and what the grouping adds.
class GroupOf {
 public:
  GroupOf(const Track& track, const Grouping& grouping) : track_(track), grouping_(grouping) {}

  std::string operator()(const Span& span) const {
    std::string group;
    add(group, std::uint8_t(span.kind));
    add(group, span.key);
    std::uint32_t at = span.parent;
    for (int n = 0; n < grouping_.stack && at != kNoSpan; ++n) {
      add(group, track_.spans[at].key);
      at = track_.spans[at].parent;
    }
    if (grouping_.shapes && span.payload != kNoSpan) {
      const Payload* const words = &track_.words[span.payload];
      group.append(reinterpret_cast<const char*>(words + 1), words->first * sizeof(Payload));
    }
    return group;
  }

 private:
  template <typename Number>
  static void add(std::string& group, Number number) {
    group.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  const Track& track_;
  const Grouping& grouping_;
};

// Numbers rows: by kind and key without a string, where the grouping adds nothing.
class Rows {
 public:
  explicit Rows(const Grouping& grouping)
      : is_plain_(grouping.stack == 0 && !grouping.shapes), grouping_(grouping) {}

  std::size_t find(const Track& track, std::uint32_t track_number, std::uint32_t index) {
    const Span& span = track.spans[index];
    std::size_t number = 0;
    if (is_plain_) {
      const std::uint64_t key = std::uint64_t(span.kind) << 32 | span.key;
      number = by_key_.emplace(key, rows.size()).first->second;
    } else {
      number = by_group_.emplace(GroupOf(track, grouping_)(span), rows.size()).first->second;
    }
    if (number == rows.size()) rows.push_back({span.kind, span.key, track_number, index});
    return number;
  }

  std::vector<AverageRow> rows;

 private:
  const bool is_plain_;
  const Grouping& grouping_;
  std::unordered_map<std::uint64_t, std::size_t> by_key_;
  std::unordered_map<std::string, std::size_t> by_group_;
};

// Bytes that the marks directly inside each span allocated, less those they freed.
std::vector<std::int64_t> memory_of(const Track& track) {
  std::vector<std::int64_t> memory(track.spans.size(), 0);
  for (const Mark& mark : track.marks) {
    if (mark.kind != MarkKind::Memory || mark.parent == kNoSpan || mark.payload == kNoSpan) {
      continue;
    }
    memory[mark.parent] += std::int64_t(track.words[mark.payload + 1].second);
  }
  return memory;
}

void add_track(const Track& track, std::uint32_t number, Rows& rows) {
  const std::size_t count = track.spans.size();
  std::vector<std::uint32_t> row_of(count);
  std::vector<std::int64_t> self(count);
  const std::vector<std::int64_t> self_memory = memory_of(track);
  std::vector<std::int64_t> memory = self_memory;
  for (std::uint32_t n = 0; n < count; ++n) {
    row_of[n] = std::uint32_t(rows.find(track, number, n));
    self[n] += track.spans[n].duration();
    if (track.spans[n].parent != kNoSpan) self[track.spans[n].parent] -= track.spans[n].duration();
  }
  // Parents come before their children, so a child's memory is whole when its parent takes it.
  for (std::size_t n = count; n-- > 0;) {
    if (track.spans[n].parent != kNoSpan) memory[track.spans[n].parent] += memory[n];
  }
  // Of each row, how many of its spans are open: only the outermost adds to the totals.
  std::vector<int> open(rows.rows.size(), 0);
  std::vector<std::uint32_t> stack;
  for (std::uint32_t n = 0; n < count; ++n) {
    const Span& span = track.spans[n];
    while (!stack.empty() && stack.back() != span.parent) {
      --open[row_of[stack.back()]];
      stack.pop_back();
    }
    AverageRow& row = rows.rows[row_of[n]];
    ++row.count;
    row.self += self[n];
    row.self_memory += self_memory[n];
    if (span.duration() > row.longest) row.longest = span.duration();
    if (open[row_of[n]]++ == 0) {
      row.total += span.duration();
      row.memory += memory[n];
    }
    stack.push_back(n);
  }
}

}  // namespace

std::vector<AverageRow> average(const Trace& trace, const Grouping& grouping) {
  Rows rows(grouping);
  for (std::size_t n = 0; n < trace.tracks.size(); ++n) {
    add_track(trace.tracks[n], std::uint32_t(n), rows);
  }
  return std::move(rows.rows);
}

}  // namespace opyard::profiler
