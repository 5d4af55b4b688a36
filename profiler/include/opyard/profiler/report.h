// opyard/profiler/report.h: a profile as one HTML file that needs nothing else.
//
// The page is made by profiler/report/; behind it is what it shows, in base64:
//
//   "OPR1", u32 the length of the head, the head as JSON, then for each track its columns, and if
//   folding leaves anything out, the same for each track of the folded profile
//
// The head has names, tables, curves of memory and, for each track, the lengths of its columns in
// bytes. Columns are varints (LEB128), one number for each bar in the order of the starts:
//
//   0  start less the start before, ns          3  number of its name; 0 for merged spans
//   1  duration, ns                             4  for bars that were cut: bars since the last
//   2  levels that end before it begins            such one, then the SpanFlags
//                                               5  for merged bars likewise: how many spans it is
//
// Beyond `most_bars` spans the shortest are merged with their neighbours of the same parent into
// one bar, as few as it takes, and none over a time longer than they are themselves; the page says
// so. Tables are made of all spans.
//
// Depends on: profiler/export.h, profiler/fold.h.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "opyard/profiler/export.h"
#include "opyard/profiler/fold.h"

namespace opyard::profiler {

struct ReportOptions {
  std::size_t most_bars = 1'000'000;  // of the whole profile, and of the folded one
  FoldRules folding;
  // A JSON list of functions whose lines were timed, or nothing:
  // [name, file, [[line, count, ns, text]]].
  std::string lines;
  // Raw deflate (RFC 1951) of what the page shows, some three times smaller; null to leave it as it
  // is. May throw, which ends the export.
  std::function<std::string(std::string_view)> deflate;
};

// Throws std::bad_alloc, and whatever the sink and deflate() throw.
OPYARD_API void write_report(const Profile& profile, const ExportOptions& options,
                             const ReportOptions& report, const Sink& sink);

}  // namespace opyard::profiler
