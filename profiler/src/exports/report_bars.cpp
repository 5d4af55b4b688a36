// profiler/exports/report_bars.cpp: spans into columns, the shortest of too many merged.
#include "exports/report_bars.h"

#include <algorithm>
#include <array>
#include <functional>

namespace opyard::profiler {
namespace {

void append_varint(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += char(number | 0x80);
  out += char(number);
}

// Spans that are longer than this have bars of their own: at most half of `most_bars`, since
// between any two there may be one that is merged. -1 if all have.
std::int64_t longest_to_merge(const Trace& trace, std::size_t most_bars) {
  if (trace.span_count() <= most_bars) return -1;
  std::vector<std::int64_t> durations;
  durations.reserve(trace.span_count());
  for (const Track& track : trace.tracks) {
    for (const Span& span : track.spans) durations.push_back(span.duration());
  }
  const auto middle = durations.begin() + std::ptrdiff_t(most_bars / 2);
  std::nth_element(durations.begin(), middle, durations.end(), std::greater<>());
  return *middle;
}

class TrackWriter {
 public:
  TrackWriter(BarColumns& columns, Bars& bars, std::vector<std::vector<std::uint32_t>>& numbers)
      : columns_(columns), bars_(bars), numbers_(numbers) {}

  void write(const Track& track) {
    depths_.resize(track.spans.size());
    for (std::size_t n = 0; n < track.spans.size(); ++n) {
      const Span& span = track.spans[n];
      const std::uint32_t depth = span.parent == kNoSpan ? 0 : depths_[span.parent] + 1;
      depths_[n] = depth;
      if (span.duration() > bars_.longest_merged) {
        flush();
        write_bar(span.start, span.end, depth, number_of(span));
        if (span.flags != 0) note(4, span.flags);
        continue;
      }
      bars_.merged += 1;
      // Whatever is inside a merged span belongs to the same bar.
      if (count_ > 0 && depth > depth_) {
        count_ += 1;
      } else if (count_ > 0 && depth == depth_ && span.parent == parent_) {
        count_ += 1;
        end_ = std::max(end_, span.end);
      } else {
        flush();
        start_ = span.start;
        end_ = span.end;
        depth_ = depth;
        parent_ = span.parent;
        count_ = 1;
      }
    }
    flush();
  }

 private:
  std::uint32_t number_of(const Span& span) {
    std::vector<std::uint32_t>& numbers = numbers_[std::size_t(span.kind)];
    if (span.key >= numbers.size()) numbers.resize(std::size_t(span.key) * 3 / 2 + 64, 0);
    std::uint32_t& number = numbers[span.key];
    if (number == 0) {
      bars_.names.push_back({span.key, span.kind});
      number = std::uint32_t(bars_.names.size());
    }
    return number;
  }

  void flush() {
    if (count_ == 0) return;
    write_bar(start_, end_, depth_, 0);
    note(5, count_);
    count_ = 0;
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
  std::vector<std::vector<std::uint32_t>>& numbers_;
  std::vector<std::uint32_t> depths_;
  std::int64_t last_start_ = 0;
  std::uint32_t levels_ = 0;  // that are open before the next bar
  std::array<std::uint64_t, 2> last_noted_{};
  // The bar of merged spans that is being made.
  std::int64_t start_ = 0;
  std::int64_t end_ = 0;
  std::uint32_t depth_ = 0;
  std::uint32_t parent_ = kNoSpan;
  std::uint64_t count_ = 0;
};

}  // namespace

Bars make_bars(const Trace& trace, std::size_t most_bars) {
  Bars bars;
  bars.longest_merged = longest_to_merge(trace, most_bars);
  bars.tracks.resize(trace.tracks.size());
  std::vector<std::vector<std::uint32_t>> numbers(kSpanKinds);  // by kind and key
  for (std::size_t n = 0; n < trace.tracks.size(); ++n) {
    TrackWriter(bars.tracks[n], bars, numbers).write(trace.tracks[n]);
  }
  return bars;
}

}  // namespace opyard::profiler
