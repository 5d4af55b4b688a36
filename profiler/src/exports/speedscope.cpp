// profiler/exports/speedscope.cpp: export as speedscope's JSON.
#include <algorithm>
#include <vector>

#include "json.h"
#include "opyard/profiler/export.h"
#include "opyard/profiler/labels.h"
#include "opyard/profiler/quality.h"
#include "profile/in_order.h"

namespace opyard::profiler {
namespace {

class SpeedscopeWriter {
 public:
  SpeedscopeWriter(const Profile& profile, const ExportOptions& options, const Sink& sink)
      : profile_(profile), labels_(profile, options.prefixes), options_(options), pieces_(sink) {}

  void write() {
    out_ +=
        "{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\", \"exporter\": "
        "\"opyard.profiler\", \"name\": ";
    append_quoted(out_, options_.process_name);
    out_ += ", \"activeProfileIndex\": 0, \"dataQuality\": " + quality_json(profile_);
    out_ += ",\n\"shared\": {\"frames\": [";
    write_frames();
    out_ += "]},\n\"profiles\": [";
    bool first = true;
    for (const Track& track : profile_.tracks) {
      if (track.spans.empty()) continue;
      out_ += first ? "\n" : ",\n";
      first = false;
      write_track(track);
    }
    out_ += "\n]}\n";
    pieces_.flush();
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  void write_frames() {
    std::uint32_t next = 0;
    for (const Track& track : profile_.tracks) {
      for (const Span& span : track.spans) {
        if (span.key >= frames_.size()) frames_.resize(std::size_t(span.key) * 3 / 2 + 64, kNone);
        if (frames_[span.key] != kNone) continue;
        out_ += next == 0 ? "\n" : ",\n";
        frames_[span.key] = next++;
        write_frame(span);
        pieces_.flush_if_full();
      }
    }
  }

  void write_frame(const Span& span) {
    const Name& name = labels_.name(span.key);
    out_ += "{\"name\": ";
    if (name.file.empty()) {
      append_quoted(out_, labels_.label(span));
    } else {
      append_quoted(out_, name.qualified.empty() ? name.text : name.qualified);
      out_ += ", \"file\": ";
      append_quoted(out_, labels_.trimmed(name.file));
      out_ += ", \"line\": ";
      append_number(out_, name.line);
    }
    out_ += "}";
  }

  void write_track(const Track& track) {
    out_ += "{\"type\": \"evented\", \"unit\": \"nanoseconds\", \"name\": ";
    append_quoted(out_, prefix_of(profile_, options_, track) +
                            (track.name.empty() ? "thread" : track.name) + " " +
                            std::to_string(track.native_id));
    std::int64_t last = profile_.duration;
    for (const Span& span : track.spans) last = std::max(last, span.end);
    out_ += ", \"startValue\": 0, \"endValue\": ";
    append_number(out_, last);
    out_ += ", \"events\": [";
    first_ = true;
    in_order(
        track, [&](std::uint32_t n) { write_event('O', track.spans[n].key, track.spans[n].start); },
        [&](std::uint32_t n) { write_event('C', track.spans[n].key, track.spans[n].end); });
    out_ += "]}";
  }

  void write_event(char type, std::uint32_t key, std::int64_t time) {
    if (!first_) out_ += ",";
    first_ = false;
    out_ += "{\"type\":\"";
    out_ += type;
    out_ += "\",\"frame\":";
    append_number(out_, frames_[key]);
    out_ += ",\"at\":";
    append_number(out_, time);
    out_ += "}";
    pieces_.flush_if_full();
  }

  const Profile& profile_;
  Labels labels_;
  const ExportOptions& options_;
  std::vector<std::uint32_t> frames_;  // by key
  Pieces pieces_;
  std::string& out_ = pieces_.text;
  bool first_ = true;
};

}  // namespace

void write_speedscope(const Profile& profile, const ExportOptions& options, const Sink& sink) {
  SpeedscopeWriter(profile, options, sink).write();
}

}  // namespace opyard::profiler
