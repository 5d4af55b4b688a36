// profiler/exports/report_bars.h: the spans of a profile as the bars of a report.
//
// Depends on: profiler/profile.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "opyard/profiler/profile.h"

namespace opyard::profiler {

// A name of a bar: a key, and as what kind of span.
struct BarName {
  std::uint32_t key;
  SpanKind kind;
};

// See profiler/report.h for what the columns hold.
inline constexpr int kBarColumns = 6;
struct BarColumns {
  std::string of[kBarColumns];
  std::uint64_t bars = 0;
};

// Names by their numbers, for all bars of a page.
class BarNames {
 public:
  std::uint32_t number_of(const Span& span);
  const std::vector<BarName>& all() const { return names_; }  // the first is number 1

 private:
  std::vector<BarName> names_;
  std::vector<std::vector<std::uint32_t>> numbers_;  // by kind and key
};

struct Bars {
  std::vector<BarColumns> tracks;
  std::uint64_t merged = 0;  // spans that have no bar of their own
  std::int64_t longest_merged = 0;
};

Bars make_bars(const Profile& profile, std::size_t most_bars, BarNames& names);

}  // namespace opyard::profiler
