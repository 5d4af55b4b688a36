// profiler/profile/averages.cpp: averages: counts and times by name.
#include "opyard/profiler/averages.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "opyard/detail/keys/runtime_table.h"
#include "opyard/profiler/labels.h"
#include "opyard/profiler/names.h"
#include "profile/thread_times.h"

namespace opyard::profiler {
namespace {

// The key of a span's row: of all kernels that of their operator.
class RowKeys {
 public:
  std::uint32_t operator()(const Span& span) {
    if (!is_operator(span.kind)) return span.key;
    if (span.key >= groups_.size()) groups_.resize(std::size_t(span.key) + 1, 0);
    std::uint32_t& group = groups_[span.key];
    if (group == 0) group = name_of(span.key).group;
    if (group == 0) group = span.key;
    return group;
  }

 private:
  std::vector<std::uint32_t> groups_;
};

SpanKind row_kind(SpanKind kind) { return kind == SpanKind::Kernel ? SpanKind::Operator : kind; }

// What tells rows apart, as bytes: kind, key, and what the grouping adds.
class GroupOf {
 public:
  GroupOf(const Track& track, const Grouping& grouping) : track_(track), grouping_(grouping) {}

  std::string operator()(const Span& span, std::uint32_t key) const {
    std::string group;
    add(group, std::uint8_t(row_kind(span.kind)));
    add(group, key);
    if (grouping_.keys && is_operator(span.kind)) add(group, span.detail);
    std::uint32_t at = span.parent;
    for (int n = 0; n < grouping_.stack && at != kNoSpan; ++n) {
      add(group, track_.spans[at].key);
      at = track_.spans[at].parent;
    }
    if (grouping_.lines && is_python_call(span.kind)) add(group, span.detail);
    if (grouping_.shapes && is_operator(span.kind) && span.payload != kNoSpan) {
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

// Numbers rows: by kind and key without a string, if the grouping adds nothing.
class Rows {
 public:
  explicit Rows(const Grouping& grouping)
      : is_plain_(grouping.stack == 0 && !grouping.shapes && !grouping.keys && !grouping.lines),
        grouping_(grouping) {}

  std::size_t find(const Track& track, std::uint32_t track_number, std::uint32_t index) {
    const Span& span = track.spans[index];
    const std::uint32_t key = row_keys_(span);
    std::size_t number = 0;
    if (is_plain_) {
      const std::uint64_t both = std::uint64_t(row_kind(span.kind)) << 32 | key;
      number = by_key_.emplace(both, rows.size()).first->second;
    } else {
      number = by_group_.emplace(GroupOf(track, grouping_)(span, key), rows.size()).first->second;
    }
    if (number == rows.size()) rows.push_back({row_kind(span.kind), key, track_number, index});
    return number;
  }
  // Whether a span is one more call of its row.
  bool counts(const Span& span) const { return grouping_.keys || span.kind != SpanKind::Kernel; }

  std::vector<AverageRow> rows;

 private:
  const bool is_plain_;
  const Grouping& grouping_;
  RowKeys row_keys_;
  std::unordered_map<std::uint64_t, std::size_t> by_key_;
  std::unordered_map<std::string, std::size_t> by_group_;
};

// Bytes that the marks directly inside each span allocated, less those they freed; empty if there
// are none.
std::vector<std::int64_t> memory_of(const Track& track) {
  const bool has_any = std::any_of(track.marks.begin(), track.marks.end(),
                                   [](const Mark& mark) { return mark.kind == MarkKind::Memory; });
  if (!has_any) return {};
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
  const std::vector<std::int64_t> thread_time = thread_times_of(track);
  const std::vector<std::int64_t> self_memory = memory_of(track);
  const bool has_memory = !self_memory.empty();
  std::vector<std::int64_t> memory = self_memory;
  for (std::uint32_t n = 0; n < count; ++n) {
    const Span& span = track.spans[n];
    row_of[n] = std::uint32_t(rows.find(track, number, n));
    AverageRow& row = rows.rows[row_of[n]];
    row.self += span.duration();
    row.self_thread_time += thread_time[n];
    if (span.parent == kNoSpan) continue;
    AverageRow& caller = rows.rows[row_of[span.parent]];
    caller.self -= span.duration();
    caller.self_thread_time -= thread_time[n];
    if (!is_python_call(span.kind)) continue;
    ++(span.kind == SpanKind::Python ? caller.python_calls : caller.other_calls);
  }
  // Parents come before their children, so a child's memory is whole when its parent takes it.
  for (std::size_t n = memory.size(); n-- > 0;) {
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
    if (rows.counts(span)) ++row.count;
    if (has_memory) row.self_memory += self_memory[n];
    if (!track.hidden.empty()) {
      row.hidden_python_calls += track.hidden[n].python;
      row.hidden_other_calls += track.hidden[n].other;
    }
    if (span.duration() > row.longest) row.longest = span.duration();
    if (open[row_of[n]]++ == 0) {
      row.total += span.duration();
      row.thread_time += thread_time[n];
      if (has_memory) row.memory += memory[n];
    }
    stack.push_back(n);
  }
}

}  // namespace

std::vector<AverageRow> average(const Profile& profile, const Grouping& grouping) {
  Rows rows(grouping);
  for (std::size_t n = 0; n < profile.tracks.size(); ++n) {
    if (profile.tracks[n].is_derived) continue;
    add_track(profile.tracks[n], std::uint32_t(n), rows);
  }
  for (AverageRow& row : rows.rows) {  // a nanosecond may be rounded away
    row.self_thread_time = std::clamp<std::int64_t>(row.self_thread_time, 0, row.self);
    if (profile.sample_period_ns > 0) row.count = sample_count(profile, row.total);
  }
  return std::move(rows.rows);
}

std::vector<KeyRow> time_by_key(const Profile& profile) {
  std::vector<KeyRow> rows(kSlotCount);
  for (const Track& track : profile.tracks) {
    // Of each span, the innermost operator or kernel that it is inside of or is.
    std::vector<std::uint32_t> within(track.spans.size(), kNoSpan);
    for (std::uint32_t n = 0; n < track.spans.size(); ++n) {
      const Span& span = track.spans[n];
      const std::uint32_t outer = span.parent == kNoSpan ? kNoSpan : within[span.parent];
      within[n] = outer;
      if (!is_operator(span.kind) || span.detail >= rows.size()) continue;
      within[n] = n;
      KeyRow& row = rows[span.detail];
      ++(span.kind == SpanKind::Kernel ? row.redispatches : row.calls);
      row.self += span.duration();
      if (outer != kNoSpan) rows[track.spans[outer].detail].self -= span.duration();
    }
  }
  for (std::size_t slot = 0; slot < rows.size(); ++slot)
    rows[slot].key = key_of_slot(unsigned(slot));
  std::erase_if(rows, [](const KeyRow& row) { return row.calls + row.redispatches == 0; });
  std::sort(rows.begin(), rows.end(),
            [](const KeyRow& a, const KeyRow& b) { return a.self > b.self; });
  return rows;
}

}  // namespace opyard::profiler
