// profiler/exports/report_bars.cpp: bars of a report, the shortest merged.
#include "exports/report_bars.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace opyard::profiler {
namespace {

void append_varint(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += char(number | 0x80);
  out += char(number);
}

// [Fewer bars] A merged span takes in all that is inside it, and its neighbour of the same parent
// if that is merged, too, and near. So as the longest duration that is merged grows, there is one
// bar fewer where it reaches
//
//   the duration of a span that has others inside it: what they were goes into its bar;
//   of two neighbours the longer one, or the time between them if that is longer still.
//
// Both are times of the profile alone; the one whose rank is the number of bars to be saved is the
// longest duration to merge. If many spans last just as long, only as many of them are merged as
// must be.

// How long spans may be that are merged, for two neighbours of one parent to become one bar.
std::int64_t needed_to_join(const Span& before, const Span& after) {
  return std::max({before.duration(), after.duration(), after.start - before.end});
}

class Savings {
 public:
  explicit Savings(const Profile& profile) {
    const std::uint64_t spans = profile.span_count();
    savings_.reserve(spans);
    for (const Track& track : profile.tracks) add(track);
  }

  // The longest duration to merge, and how many bars fewer than allowed there are then.
  std::pair<std::int64_t, std::size_t> least_for(std::size_t wanted) {
    // Tracks cannot be merged with each other, so there may be too few savings.
    wanted = std::min(wanted, savings_.size());
    if (wanted == 0) return {-1, 0};
    const auto last = savings_.begin() + std::ptrdiff_t(wanted - 1);
    std::nth_element(savings_.begin(), last, savings_.end());
    const std::int64_t longest = *last;
    return {longest, std::size_t(std::count(last + 1, savings_.end(), longest))};
  }

 private:
  void add(const Track& track) {
    // Of each span that has some inside it, the last of them so far; of the track at the end.
    std::vector<std::uint32_t> last_inside(track.spans.size() + 1, kNoSpan);
    for (std::uint32_t n = 0; n < track.spans.size(); ++n) {
      const Span& span = track.spans[n];
      const bool is_outer = span.parent == kNoSpan;
      std::uint32_t& before = last_inside[is_outer ? track.spans.size() : span.parent];
      if (before != kNoSpan) {
        savings_.push_back(needed_to_join(track.spans[before], span));
      } else if (!is_outer) {
        savings_.push_back(track.spans[span.parent].duration());
      }
      before = n;
    }
  }

  std::vector<std::int64_t> savings_;
};

class TrackWriter {
 public:
  TrackWriter(BarColumns& columns, Bars& bars, BarNames& names)
      : columns_(columns), bars_(bars), names_(names) {}

  // `spare` bars more than there must be may be written, which it counts down.
  void write(const Track& track, std::size_t& spare) {
    depths_.resize(track.spans.size());
    if (bars_.longest_merged >= 0) find_next(track);
    for (std::size_t n = 0; n < track.spans.size(); ++n) {
      const Span& span = track.spans[n];
      const std::uint32_t depth = span.parent == kNoSpan ? 0 : depths_[span.parent] + 1;
      depths_[n] = depth;
      if (first_ != nullptr && depth > depth_) {  // inside a merged span
        count_ += 1;
        continue;
      }
      const bool has_inner = n + 1 < track.spans.size() && track.spans[n + 1].parent == n;
      const bool joins = first_ != nullptr && span.parent == first_->parent &&
                         span.start - end_ <= bars_.longest_merged;
      if (is_merged(track, n, has_inner, joins, spare)) {
        if (!joins) begin(span, depth);
        count_ += 1;
        end_ = std::max(end_, span.end);
      } else {
        flush();
        write_span(span, depth);
      }
    }
    flush();
  }

 private:
  // Of each span the next one of the same parent, or kNoSpan.
  void find_next(const Track& track) {
    next_.assign(track.spans.size(), kNoSpan);
    std::vector<std::uint32_t> first_inside(track.spans.size() + 1, kNoSpan);
    for (std::size_t n = track.spans.size(); n-- > 0;) {
      const std::uint32_t parent = track.spans[n].parent;
      next_[n] = std::exchange(first_inside[parent == kNoSpan ? track.spans.size() : parent], n);
    }
  }

  // See [Fewer bars]. A span of the last duration that is merged has a bar of its own as long as
  // there is room for what it would save: the spans inside it, and both neighbours.
  bool is_merged(const Track& track, std::size_t n, bool has_inner, bool joins,
                 std::size_t& spare) const {
    const Span& span = track.spans[n];
    const std::int64_t longest = bars_.longest_merged;
    if (span.duration() != longest) return span.duration() < longest;
    const bool joins_next =
        next_[n] != kNoSpan && needed_to_join(span, track.spans[next_[n]]) <= longest;
    const auto cost = std::size_t(has_inner) + std::size_t(joins) + std::size_t(joins_next);
    if (cost > spare) return true;
    spare -= cost;
    return false;
  }

  void begin(const Span& span, std::uint32_t depth) {
    flush();
    first_ = &span;
    end_ = span.end;
    depth_ = depth;
  }
  // One span alone saves nothing, and keeps its name.
  void flush() {
    if (count_ == 1) {
      write_span(*first_, depth_);
    } else if (count_ > 1) {
      write_bar(first_->start, end_, depth_, 0);
      note(5, count_);
      bars_.merged += count_;
    }
    first_ = nullptr;
    count_ = 0;
  }

  void write_span(const Span& span, std::uint32_t depth) {
    write_bar(span.start, span.end, depth, names_.number_of(span));
    if (span.flags != 0) note(4, span.flags);
  }
  void write_bar(std::int64_t start, std::int64_t end, std::uint32_t depth, std::uint32_t number) {
    append_varint(columns_.of[0], std::uint64_t(start - last_start_));
    append_varint(columns_.of[1], std::uint64_t(end - start));
    append_varint(columns_.of[2], levels_ - depth);
    append_varint(columns_.of[3], number);
    last_start_ = start;
    levels_ = depth + 1;
    columns_.bars += 1;
  }

  // Of the bar that was written last.
  void note(int column, std::uint64_t number) {
    std::uint64_t& last = last_noted_[std::size_t(column - 4)];
    append_varint(columns_.of[column], columns_.bars - last);
    append_varint(columns_.of[column], number);
    last = columns_.bars;
  }

  BarColumns& columns_;
  Bars& bars_;
  BarNames& names_;
  std::vector<std::uint32_t> depths_;
  std::vector<std::uint32_t> next_;
  std::int64_t last_start_ = 0;
  std::uint32_t levels_ = 0;  // that are open before the next bar
  std::array<std::uint64_t, 2> last_noted_{};
  // The bar of merged spans that is being made.
  const Span* first_ = nullptr;
  std::int64_t end_ = 0;
  std::uint32_t depth_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace

std::uint32_t BarNames::number_of(const Span& span) {
  numbers_.resize(kSpanKinds);
  std::vector<std::uint32_t>& numbers = numbers_[std::size_t(span.kind)];
  if (span.key >= numbers.size()) numbers.resize(std::size_t(span.key) * 3 / 2 + 64, 0);
  std::uint32_t& number = numbers[span.key];
  if (number == 0) {
    names_.push_back({span.key, span.kind});
    number = std::uint32_t(names_.size());
  }
  return number;
}

Bars make_bars(const Profile& profile, std::size_t most_bars, BarNames& names) {
  Bars bars;
  std::size_t spare = 0;
  bars.longest_merged = -1;
  if (const std::uint64_t spans = profile.span_count(); spans > most_bars) {
    std::tie(bars.longest_merged, spare) = Savings(profile).least_for(spans - most_bars);
  }
  bars.tracks.resize(profile.tracks.size());
  for (std::size_t n = 0; n < profile.tracks.size(); ++n) {
    TrackWriter(bars.tracks[n], bars, names).write(profile.tracks[n], spare);
  }
  return bars;
}

}  // namespace opyard::profiler
