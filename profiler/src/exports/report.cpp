// profiler/exports/report.cpp: export as HTML: the page, names, tables, curves and bars.
#include "opyard/profiler/report.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "exports/report_bars.h"
#include "exports/report_marks.h"
#include "exports/report_page.h"
#include "json.h"
#include "opyard/detail/profiler/memory.h"
#include "opyard/profiler/averages.h"
#include "opyard/profiler/fold.h"
#include "opyard/profiler/labels.h"
#include "opyard/profiler/quality.h"
#include "opyard/profiler/waits.h"

namespace opyard::profiler {
namespace {

// More rows, points and marks than a person looks at; the page says how many were left out.
constexpr std::size_t kMostRows = 20'000;
constexpr std::size_t kMostPoints = 20'000;
constexpr std::size_t kMostMarks = 20'000;

struct Point {
  std::int64_t time;
  std::int64_t bytes;
};

// The least and the most of each of equal parts, so that no peak is lost.
std::vector<Point> thin_out(const std::vector<Point>& points) {
  if (points.size() <= kMostPoints) return points;
  std::vector<Point> thinned;
  const std::size_t parts = kMostPoints / 2;
  for (std::size_t part = 0; part < parts; ++part) {
    const auto begin = points.begin() + std::ptrdiff_t(points.size() * part / parts);
    const auto end = points.begin() + std::ptrdiff_t(points.size() * (part + 1) / parts);
    auto [low, high] = std::minmax_element(
        begin, end, [](const Point& a, const Point& b) { return a.bytes < b.bytes; });
    if (low > high) std::swap(low, high);
    thinned.push_back(*low);
    if (high != low) thinned.push_back(*high);
  }
  return thinned;
}

// A profile, whole or folded, and its bars.
struct Shown {
  const Profile& profile;
  Bars bars;
};

class Head {
 public:
  Head(const Shown& whole, const Shown* folded, const BarNames& names, const ExportOptions& options,
       const ReportOptions& report)
      : whole_(whole),
        folded_(folded),
        names_(names),
        profile_(whole.profile),
        options_(options),
        lines_(report.lines),
        rules_(report.folding),
        labels_(whole.profile, options.prefixes) {}

  std::string write() {
    out_ = "{\"process\": ";
    append_quoted(out_, options_.process_name);
    number("processId", options_.process_id);
    number("duration", profile_.duration);
    number("samplePeriod", profile_.sample_period_ns);
    number("begin", profile_.unix_begin_ns / 1'000'000);
    out_ += ", \"quality\": " + quality_json(profile_) + ", \"metadata\": {";
    first_ = true;
    for (const auto& [key, value] : options_.metadata) {
      next();
      append_quoted(out_, key);
      out_ += ": " + value;
    }
    out_ += "}";
    write_kinds();
    write_names();
    write_tracks();
    write_shown(whole_);
    write_keys();
    write_lines();
    write_memory();
    out_ += ",\n\"lines\": " + (lines_.empty() ? "[]" : lines_);
    if (folded_ != nullptr) write_folded();
    out_ += "}";
    return std::move(out_);
  }

 private:
  template <typename Integer>
  void number(std::string_view name, Integer value) {
    out_ += ", \"";
    out_ += name;
    out_ += "\": ";
    append_number(out_, value);
  }
  void next() {
    if (!first_) out_ += ",";
    first_ = false;
  }
  void begin_list(std::string_view name) {
    out_ += ",\n\"";
    out_ += name;
    out_ += "\": [";
    first_ = true;
  }
  template <typename... Integer>
  void append_all(Integer... values) {
    ((out_ += ",", append_number(out_, values)), ...);
  }

  void write_kinds() {
    begin_list("kinds");
    for (const KindInfo& kind : kSpanInfo) {
      next();
      out_ += "[";
      append_quoted(out_, kind.name);
      out_ += ",";
      append_quoted(out_, kind.category);
      out_ += ",";
      append_quoted(out_, kind.meaning);
      out_ += "]";
    }
    out_ += "]";
  }

  // [label, kind] and, for a function of Python, [..., file, line, qualified name, Origin].
  void write_names() {
    begin_list("names");
    for (const BarName& bar : names_.all()) {
      next();
      const Name& name = labels_.name(bar.key);
      out_ += "[";
      append_quoted(out_, labels_.label(bar.key));
      append_all(int(bar.kind));
      if (!name.file.empty()) {
        out_ += ",";
        append_quoted(out_, labels_.trimmed(name.file));
        append_all(name.line);
        out_ += ",";
        append_quoted(out_, name.qualified.empty() ? name.text : name.qualified);
        append_all(int(origin_of(name, rules_)));
      }
      out_ += "]";
    }
    out_ += "]";
  }

  void write_tracks() {
    const ShownMarks marks = choose_marks(profile_, kMostMarks);
    begin_list("tracks");
    for (std::size_t n = 0; n < profile_.tracks.size(); ++n) {
      const Track& track = profile_.tracks[n];
      next();
      out_ += "{\"name\": ";
      append_quoted(out_, prefix_of(profile_, options_, track) + track.name);
      number("id", track.native_id);
      number("derived", int(track.is_derived));
      write_columns(whole_.bars.tracks[n]);
      out_ += ", \"marks\": [";
      first_ = true;
      for (const std::uint32_t place : marks.tracks[n]) {
        const Mark& mark = track.marks[place];
        next();
        out_ += "[";
        append_number(out_, mark.time);
        out_ += ",";
        append_quoted(out_, mark.key == 0 ? info_of(mark.kind).name : labels_.label(mark.key));
        out_ += "]";
      }
      out_ += "]}";
      first_ = false;
    }
    out_ += "]";
    number("marksLeftOut", marks.left_out);
  }

  void write_columns(const BarColumns& track) {
    number("bars", track.bars);
    out_ += ", \"columns\": [";
    for (int column = 0; column < kBarColumns; ++column) {
      if (column > 0) out_ += ",";
      append_number(out_, track.of[column].size());
    }
    out_ += "]";
  }

  void write_shown(const Shown& shown) {
    write_rows(shown.profile);
    number("merged", shown.bars.merged);
    number("longestMerged", shown.bars.longest_merged);
  }

  void write_folded() {
    out_ += ",\n\"folded\": {\"tracks\": [";
    first_ = true;
    for (const BarColumns& track : folded_->bars.tracks) {
      next();
      out_ += "{\"folded\": true";
      write_columns(track);
      out_ += "}";
    }
    out_ += "]";
    write_shown(*folded_);
    out_ += "}";
  }

  // [kind, label, calls, total, self, longest, memory, own memory, own CPU time, what it waits
  // for], the largest own time first.
  void write_rows(const Profile& profile) {
    std::vector<AverageRow> rows = average(profile, {});
    std::stable_sort(rows.begin(), rows.end(),
                     [](const AverageRow& a, const AverageRow& b) { return a.self > b.self; });
    begin_list("rows");
    for (std::size_t n = 0; n < std::min(rows.size(), kMostRows); ++n) {
      const AverageRow& row = rows[n];
      next();
      out_ += "[";
      append_number(out_, int(row.kind));
      out_ += ",";
      append_quoted(out_, labels_.label(row.key));
      append_all(row.count, row.total, row.self, row.longest, row.memory, row.self_memory,
                 row.self_thread_time);
      out_ += ",";
      append_quoted(out_, waited_for(row));
      out_ += "]";
    }
    out_ += "]";
    number("rowsLeftOut", rows.size() - std::min(rows.size(), kMostRows));
  }

  void write_keys() {
    begin_list("keys");
    for (const KeyRow& row : time_by_key(profile_)) {
      next();
      out_ += "[";
      append_quoted(out_, to_string(row.key));
      append_all(row.calls, row.redispatches, row.self);
      out_ += "]";
    }
    out_ += "]";
  }

  // [label, line, own time, own CPU time, total time] of a sampled profile, the largest CPU time
  // first.
  void write_lines() {
    std::vector<SampledLine> lines = profile_.sampled_lines;
    std::stable_sort(lines.begin(), lines.end(), [](const SampledLine& a, const SampledLine& b) {
      return a.self_thread_time > b.self_thread_time;
    });
    if (lines.size() > kMostRows) lines.resize(kMostRows);
    begin_list("sampledLines");
    for (const SampledLine& line : lines) {
      next();
      out_ += "[";
      append_quoted(out_, labels_.label(line.key));
      append_all(line.line, line.self, line.self_thread_time, line.total);
      out_ += "]";
    }
    out_ += "]";
  }

  // {name, times, bytes} for each device.
  void write_memory() {
    std::map<std::string, std::vector<Point>> devices;
    for (const Track& track : profile_.tracks) {
      for (const Mark& mark : track.marks) {
        if (mark.kind != MarkKind::Memory || mark.payload == kNoSpan) continue;
        const MemoryFacts facts(track.words_of(mark.payload));
        devices[to_string(facts.device)].push_back({mark.time, facts.total});
      }
    }
    begin_list("memory");
    for (auto& [device, points] : devices) {
      std::stable_sort(points.begin(), points.end(),
                       [](const Point& a, const Point& b) { return a.time < b.time; });
      points = thin_out(points);
      next();
      out_ += "{\"device\": ";
      append_quoted(out_, device);
      write_column("times", points, &Point::time);
      write_column("bytes", points, &Point::bytes);
      out_ += "}";
      first_ = false;
    }
    out_ += "]";
  }
  void write_column(std::string_view name, const std::vector<Point>& points,
                    std::int64_t Point::* number) {
    begin_list(name);
    for (const Point& point : points) {
      next();
      append_number(out_, point.*number);
    }
    out_ += "]";
  }

  const Shown& whole_;
  const Shown* const folded_;  // null if it leaves nothing out
  const BarNames& names_;
  const Profile& profile_;
  const ExportOptions& options_;
  const std::string& lines_;
  const FoldRules& rules_;
  Labels labels_;
  std::string out_;
  bool first_ = true;
};

std::string report_contents(const Profile& profile, const ExportOptions& options,
                            const ReportOptions& report) {
  BarNames names;
  Profile folded_profile;
  std::optional<Shown> folded;
  if (folds_any(profile, report.folding)) {
    folded_profile = fold(profile, report.folding);
    folded.emplace(Shown{folded_profile, make_bars(folded_profile, report.most_bars, names)});
  }
  const Shown whole{profile, make_bars(profile, report.most_bars, names)};
  const Shown* const leaves_out = folded ? &*folded : nullptr;
  const std::string head = Head(whole, leaves_out, names, options, report).write();
  std::string contents = "OPR1";
  for (int shift = 0; shift < 32; shift += 8) contents += char(head.size() >> shift & 0xff);
  contents += head;
  const auto append = [&](const Bars& bars) {
    for (const BarColumns& track : bars.tracks) {
      for (const std::string& column : track.of) contents += column;
    }
  };
  append(whole.bars);
  if (folded) append(folded->bars);
  return contents;
}

void write_base64(std::string_view bytes, const Sink& sink) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  Pieces pieces(sink);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t n = 0; n < 3; ++n) {
      group = group << 8 | (n < count ? std::uint8_t(bytes[at + n]) : 0);
    }
    for (std::size_t n = 0; n < 4; ++n) {
      pieces.text += n <= count ? kDigits[group >> (18 - 6 * n) & 63] : '=';
    }
    pieces.flush_if_full();
  }
  pieces.flush();
}

}  // namespace

void write_report(const Profile& profile, const ExportOptions& options, const ReportOptions& report,
                  const Sink& sink) {
  std::string contents = report_contents(profile, options, report);
  if (report.deflate != nullptr) contents = report.deflate(contents);
  const std::string_view page(kReportPage, kReportPageSize);
  const std::size_t place = page.find(kReportPlace);
  sink(page.substr(0, place));
  sink(report.deflate != nullptr ? "deflate-raw," : "plain,");
  write_base64(contents, sink);
  sink(page.substr(place + kReportPlace.size()));
}

}  // namespace opyard::profiler
