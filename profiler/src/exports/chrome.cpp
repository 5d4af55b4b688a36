// profiler/exports/chrome.cpp: export as Chrome's JSON.
#include "opyard/profiler/chrome.h"

#include "json.h"
#include "opyard/detail/profiler/links.h"
#include "opyard/detail/profiler/memory.h"
#include "opyard/detail/profiler/shapes.h"
#include "opyard/profiler/labels.h"
#include "opyard/profiler/quality.h"

namespace opyard::profiler {
namespace {

class ChromeWriter {
 public:
  ChromeWriter(const Profile& profile, const ExportOptions& options, const Sink& sink)
      : profile_(profile),
        options_(options),
        labels_(profile, options.prefixes),
        numbers_(number_calls(profile)),
        links_(profile),
        pieces_(sink) {}

  void write() {
    head();
    for (std::size_t track = 0; track < profile_.tracks.size(); ++track) write_track(track);
    out_ += "\n]}\n";
    pieces_.flush();
  }

 private:
  void head() {
    out_ += "{\"schemaVersion\": 1, \"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": ";
    append_number(out_, profile_.unix_begin_ns);
    for (const auto& [key, value] : options_.metadata) {
      out_ += ", ";
      append_quoted(out_, key);
      out_ += ": " + value;
    }
    out_ += ", \"dataQuality\": " + quality_json(profile_) + ",\n\"traceEvents\": [";
    process_ = options_.process_id;
    metadata("process_name", 0, options_.process_name);
    for (const ProcessOfProfile& process : profile_.processes) {
      process_ = process.id;
      metadata("process_name", 0, process.name);
    }
  }

  void begin_event() {
    out_ += first_ ? "\n" : ",\n";
    first_ = false;
  }

  void metadata(std::string_view what, std::int64_t thread, std::string_view name) {
    begin_event();
    out_ += "{\"ph\": \"M\", \"name\": ";
    append_quoted(out_, what);
    place(thread);
    out_ += ", \"args\": {\"name\": ";
    append_quoted(out_, name);
    out_ += "}}";
  }

  void place(std::int64_t thread) {
    out_ += ", \"pid\": ";
    append_number(out_, process_);
    out_ += ", \"tid\": ";
    append_number(out_, thread);
  }

  void write_track(std::size_t index) {
    const Track& track = profile_.tracks[index];
    const std::string id = std::to_string(track.native_id);
    process_ = process_of(profile_, options_, track);
    metadata("thread_name", track.native_id,
             track.name.empty() ? "thread " + id : "thread " + id + " (" + track.name + ")");
    const std::vector<std::uint32_t>& numbers = numbers_[index];
    // Of each span, the number of the nearest call of Python around it, or 0; a parent comes before
    // its children.
    std::vector<std::uint32_t> calling(track.spans.size(), 0);
    for (std::size_t n = 0; n < track.spans.size(); ++n) {
      const std::uint32_t parent = track.spans[n].parent;
      if (parent != kNoSpan) {
        calling[n] = numbers[parent] != 0 ? numbers[parent] : calling[parent];
      }
      const std::span<const LinkEnd> ends = links_.of(index, n);
      write_span(track, track.spans[n], numbers[n], calling[n], ends);
      for (const LinkEnd& end : ends) write_link(track, end);
      pieces_.flush_if_full();
    }
    for (const Mark& mark : track.marks) {
      write_mark(track, mark);
      pieces_.flush_if_full();
    }
  }

  // An arrow from a call to the backward function that it made.
  void write_link(const Track& track, const LinkEnd& end) {
    if (end.link == 0) return;
    begin_event();
    out_ += end.is_run ? "{\"ph\": \"f\", \"bp\": \"e\"" : "{\"ph\": \"s\"";
    out_ += ", \"cat\": \"fwdbwd\", \"name\": \"fwdbwd\", \"id\": ";
    append_number(out_, end.link);
    place(track.native_id);
    out_ += ", \"ts\": ";
    append_microseconds(out_, track.spans[end.span].start);
    out_ += "}";
  }

  void write_span(const Track& track, const Span& span, std::uint32_t number, std::uint32_t calling,
                  std::span<const LinkEnd> ends) {
    begin_event();
    out_ += "{\"ph\": \"X\", \"cat\": \"";
    out_ += info_of(span.kind).category;
    out_ += "\", \"name\": ";
    append_quoted(out_, labels_.label(span));
    place(track.native_id);
    out_ += ", \"ts\": ";
    append_microseconds(out_, span.start);
    out_ += ", \"dur\": ";
    append_microseconds(out_, span.duration());
    out_ += ", \"args\": {";
    if (number != 0) {
      out_ += "\"Python id\": ";
      append_number(out_, number);
      out_ += ", \"Python parent id\": ";
      if (calling == 0) {
        out_ += "null";
      } else {
        append_number(out_, calling);
      }
      out_ += ", ";
    }
    const Name& name = labels_.name(span.key);
    if (const int instance = labels_.instance_number(span.key); instance >= 0) {
      out_ += "\"Python module id\": ";
      append_number(out_, instance);
      out_ += ", ";
    }
    if (!name.qualified.empty() && name.qualified != name.text) {
      out_ += "\"qualified name\": ";
      append_quoted(out_, name.qualified);
      out_ += ", ";
    }
    if (is_python_call(span.kind) && span.detail != 0) {
      out_ += "\"caller line\": ";
      append_number(out_, span.detail);
      out_ += ", ";
    }
    if (span.flags != 0) {
      out_ += "\"cut\": \"";
      out_ += cut_of(span);
      out_ += "\", ";
    }
    if (!ends.empty()) {
      out_ += "\"Sequence number\": ";
      append_number(out_, ends.back().sequence);
      out_ += ", ";
    }
    if (!name.extra.empty()) out_ += "\"more\": " + name.extra + ", ";
    if (const std::string& arguments = labels_.arguments(track, span); !arguments.empty()) {
      out_ += "\"args\": ";
      append_quoted(out_, arguments);
      out_ += ", ";
    }
    if (is_operator(span.kind) && span.payload != kNoSpan) {
      const ShapeTexts texts = read_shapes(track.words_of(span.payload));
      out_ += "\"Input Dims\": " + texts.sizes + ", \"Input type\": " + texts.types +
              ", \"Input Strides\": " + texts.strides + ", \"Concrete Inputs\": " + texts.values +
              ", ";
    }
    out_ += "\"kind\": \"";
    out_ += info_of(span.kind).name;
    out_ += "\"}}";
  }

  void write_mark(const Track& track, const Mark& mark) {
    if (mark.kind == MarkKind::Function) return;  // of the span around it
    begin_event();
    out_ += "{\"ph\": \"i\", \"s\": \"t\", \"cat\": \"";
    out_ += info_of(mark.kind).category;
    out_ += "\", \"name\": ";
    append_quoted(out_, mark.key == 0 ? "[" + std::string(info_of(mark.kind).name) + "]"
                                      : labels_.label(mark.key));
    place(track.native_id);
    out_ += ", \"ts\": ";
    append_microseconds(out_, mark.time);
    out_ += ", \"args\": {";
    if (mark.kind == MarkKind::Device) {
      write_words(track, mark);
    } else if (mark.payload != kNoSpan) {
      write_memory(MemoryFacts(track.words_of(mark.payload)));
    }
    out_ += "}}";
    if (mark.kind == MarkKind::Memory && mark.payload != kNoSpan) {
      write_total(mark, MemoryFacts(track.words_of(mark.payload)));
    }
  }

  void write_words(const Track& track, const Mark& mark) {
    if (mark.payload == kNoSpan) return;
    const Payload words = track.words_of(mark.payload)[0];
    out_ += "\"words\": [";
    append_number(out_, words.first);
    out_ += ", ";
    append_number(out_, words.second);
    out_ += "]";
  }

  void write_memory(const MemoryFacts& facts) {
    out_ += "\"Addr\": ";
    append_number(out_, facts.address);
    out_ += ", \"Bytes\": ";
    append_number(out_, facts.bytes);
    out_ += ", \"Device\": ";
    append_quoted(out_, to_string(facts.device));
    out_ += ", \"Total Allocated\": ";
    append_number(out_, facts.total);
  }

  // A counter of the process, which viewers draw as a curve.
  void write_total(const Mark& mark, const MemoryFacts& facts) {
    begin_event();
    out_ += "{\"ph\": \"C\", \"cat\": \"memory\", \"name\": ";
    append_quoted(out_, "memory " + to_string(facts.device));
    place(0);
    out_ += ", \"ts\": ";
    append_microseconds(out_, mark.time);
    out_ += ", \"args\": {\"bytes\": ";
    append_number(out_, facts.total);
    out_ += "}}";
  }

  const Profile& profile_;
  const ExportOptions& options_;
  Labels labels_;
  const std::vector<std::vector<std::uint32_t>> numbers_;
  const Links links_;
  Pieces pieces_;
  std::string& out_ = pieces_.text;
  bool first_ = true;
  std::int64_t process_ = 0;  // of what is being written
};

}  // namespace

void write_chrome(const Profile& profile, const ExportOptions& options, const Sink& sink) {
  ChromeWriter(profile, options, sink).write();
}

}  // namespace opyard::profiler
