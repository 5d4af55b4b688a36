// profiler/exports/perfetto.cpp: export as Perfetto's protocol buffers.
//
// [Sequences] Each track is a sequence of packets with names and a clock of its own: a name is
// written once, before its first use, and the time of a packet is its difference to the one before.
// The defaults of a sequence say its track.
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exports/protobuf.h"
#include "json.h"
#include "opyard/detail/profiler/links.h"
#include "opyard/detail/profiler/memory.h"
#include "opyard/detail/profiler/shapes.h"
#include "opyard/profiler/export.h"
#include "opyard/profiler/labels.h"
#include "opyard/profiler/quality.h"
#include "profile/in_order.h"

namespace opyard::profiler {
namespace {

// Numbers of fields in Perfetto's .proto files.
enum Packet {
  kTimestamp = 8,
  kSequence = 10,
  kTrackEvent = 11,
  kInterned = 12,
  kFlags = 13,
  kClocks = 6,
  kDefaultClock = 58,
  kDefaults = 59,
  kTrack = 60
};
enum Event {
  kType = 9,
  kNameId = 10,
  kEventTrack = 11,
  kCategoryId = 3,
  kAnnotation = 4,
  kEventName = 23,
  kFlow = 47,
  kFlowEnd = 48,
  kCounterValue = 30
};
enum EventType { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };
constexpr std::uint64_t kOwnClock = 64;  // the first number for the clock of a sequence
constexpr std::uint64_t kBootClock = 6;  // what the times of a profile are shown in
constexpr std::uint64_t kProcessTrack = 1;

class PerfettoWriter {
 public:
  PerfettoWriter(const Profile& profile, const ExportOptions& options, const Sink& sink)
      : profile_(profile),
        options_(options),
        labels_(profile, options.prefixes),
        links_(profile),
        pieces_(sink) {}

  void write() {
    describe_process(0, options_.process_id, options_.process_name);
    for (std::size_t n = 0; n < profile_.processes.size(); ++n) {
      describe_process(n + 1, profile_.processes[n].id, profile_.processes[n].name);
    }
    for (std::size_t n = 0; n < profile_.tracks.size(); ++n) write_track(n);
    pieces_.flush();
  }

 private:
  void put(const Message& packet) {
    Message file;
    file.message(1, packet);
    pieces_.text += file.bytes;
    pieces_.flush_if_full();
  }

  void describe_process(std::size_t number, std::int64_t id, const std::string& name) {
    Message process;
    process.number(1, std::uint64_t(id));
    process.text(6, name);
    Message track;
    track.number(1, kProcessTrack + number);
    track.message(3, process);
    Message packet;
    packet.message(kTrack, track);
    put(packet);
  }

  // See [Sequences].
  void begin_sequence(const Track& track) {
    ++sequence_;
    names_.assign(names_.size(), false);
    categories_.clear();
    texts_.clear();
    last_ = 0;
    track_ = sequence_ + kProcessTrack + profile_.processes.size();
    Message thread;
    thread.number(1, std::uint64_t(process_of(profile_, options_, track)));
    thread.number(2, std::uint64_t(track.native_id));
    thread.text(5, track.name.empty() ? "thread" : track.name);
    Message described;
    described.number(1, track_);
    if (track.is_derived) {
      described.text(2, track.name);
      described.number(5, kProcessTrack + track.process);
    } else {
      described.message(4, thread);
    }
    Message packet;
    packet.number(kSequence, sequence_);
    packet.message(kTrack, described);
    put(packet);
    put(clocks());
  }

  Message clocks() const {
    Message own;
    own.number(1, kOwnClock);
    own.number(2, 0);
    own.number(3, 1);
    Message boot;
    boot.number(1, kBootClock);
    boot.number(2, profile_.monotonic_begin_ns);
    Message snapshot;
    snapshot.message(1, own);
    snapshot.message(1, boot);
    Message event_defaults;
    event_defaults.number(kEventTrack, track_);
    Message defaults;
    defaults.number(kDefaultClock, kOwnClock);
    defaults.message(kTrackEvent, event_defaults);
    Message packet;
    packet.number(kSequence, sequence_);
    packet.number(kFlags, 1);  // names begin anew
    packet.message(kClocks, snapshot);
    packet.message(kDefaults, defaults);
    return packet;
  }

  void write_track(std::size_t number) {
    const Track& track = profile_.tracks[number];
    begin_sequence(track);
    if (sequence_ == 1) write_quality();
    std::size_t mark = 0;
    const auto marks_before = [&](std::int64_t time) {
      for (; mark < track.marks.size() && track.marks[mark].time <= time; ++mark) {
        write_mark(track, track.marks[mark]);
      }
    };
    in_order(
        track,
        [&](std::uint32_t n) {
          marks_before(track.spans[n].start);
          write_begin(track, track.spans[n], links_.of(number, n));
        },
        [&](std::uint32_t n) {
          marks_before(track.spans[n].end);
          Message event;
          event.number(kType, kEnd);
          put_event(event, Message(), track.spans[n].end);
        });
    marks_before(std::int64_t{1} << 62);
  }

  void put_event(const Message& event, const Message& interned, std::int64_t time) {
    Message packet;
    packet.number(kTimestamp, std::uint64_t(time - last_));
    last_ = time;
    packet.number(kSequence, sequence_);
    packet.number(kFlags, 2);  // needs the names
    if (!interned.bytes.empty()) packet.message(kInterned, interned);
    packet.message(kTrackEvent, event);
    put(packet);
  }

  // A name by its key, which is its number here, too.
  void refer_to_name(Message& event, Message& interned, std::uint32_t key,
                     const std::string& name) {
    event.number(kNameId, key + 1);
    if (key >= names_.size()) names_.resize(std::size_t(key) * 3 / 2 + 64, false);
    if (names_[key]) return;
    names_[key] = true;
    Message entry;
    entry.number(1, key + 1);
    entry.text(2, name);
    interned.message(2, entry);
  }
  void refer_to_category(Message& event, Message& interned, std::string_view category) {
    const auto [at, is_new] = categories_.emplace(category, categories_.size() + 1);
    event.number(kCategoryId, at->second);
    if (!is_new) return;
    Message entry;
    entry.number(1, at->second);
    entry.text(2, category);
    interned.message(1, entry);
  }

  void write_begin(const Track& track, const Span& span, std::span<const LinkEnd> ends) {
    Message event;
    Message interned;
    event.number(kType, kBegin);
    refer_to_name(event, interned, span.key, labels_.label(span));
    refer_to_category(event, interned, info_of(span.kind).category);
    annotate_span(event, interned, track, span);
    for (const LinkEnd& end : ends) {
      if (end.link != 0) event.fixed(end.is_run ? kFlowEnd : kFlow, end.link);
    }
    if (!ends.empty()) annotate(event, "Sequence number", std::to_string(ends.back().sequence));
    put_event(event, interned, span.start);
  }

  // What the name does not say. Texts that many spans share are written once.
  void annotate_span(Message& event, Message& interned, const Track& track, const Span& span) {
    if (is_python_call(span.kind) && span.detail != 0) {
      annotate(event, "caller line", std::to_string(span.detail));
    }
    if (const char* const cut = cut_of(span); *cut != '\0') annotate(event, "cut", cut);
    if (const std::string& more = labels_.name(span.key).extra; !more.empty()) {
      refer_to_text(event, interned, "more", more);
    }
    if (const std::string& arguments = labels_.arguments(track, span); !arguments.empty()) {
      refer_to_text(event, interned, "args", arguments);
    }
    if (is_operator(span.kind) && span.payload != kNoSpan) {
      const ShapeTexts texts = read_shapes(track.words_of(span.payload));
      refer_to_text(event, interned, "Input Dims", texts.sizes);
      refer_to_text(event, interned, "Input type", texts.types);
      refer_to_text(event, interned, "Input Strides", texts.strides);
      refer_to_text(event, interned, "Concrete Inputs", texts.values);
    }
  }

  void refer_to_text(Message& event, Message& interned, std::string_view name,
                     const std::string& value) {
    const auto [at, is_new] = texts_.emplace(value, texts_.size() + 1);
    Message annotation;
    annotation.text(10, name);
    annotation.number(17, at->second);
    event.message(kAnnotation, annotation);
    if (!is_new) return;
    Message entry;
    entry.number(1, at->second);
    entry.text(2, value);
    interned.message(29, entry);
  }

  static void annotate(Message& event, std::string_view name, std::string_view value) {
    Message annotation;
    annotation.text(10, name);
    annotation.text(6, value);
    event.message(kAnnotation, annotation);
  }

  void write_mark(const Track& track, const Mark& mark) {
    if (mark.kind == MarkKind::Function) return;  // of the span around it
    Message event;
    Message interned;
    event.number(kType, kInstant);
    refer_to_category(event, interned, info_of(mark.kind).category);
    event.text(kEventName, mark.key == 0 ? "[" + std::string(info_of(mark.kind).name) + "]"
                                         : labels_.label(mark.key));
    if (mark.kind != MarkKind::Device && mark.payload != kNoSpan) {
      const MemoryFacts facts(track.words_of(mark.payload));
      annotate(event, "Bytes", std::to_string(facts.bytes));
      annotate(event, "Device", to_string(facts.device));
      annotate(event, "Total Allocated", std::to_string(facts.total));
    }
    put_event(event, interned, mark.time);
  }

  void write_quality() {
    Message event;
    event.number(kType, kInstant);
    event.text(kEventName, "data quality");
    annotate(event, "report", quality_json(profile_));
    put_event(event, Message(), 0);
  }

  const Profile& profile_;
  const ExportOptions& options_;
  Labels labels_;
  const Links links_;
  Pieces pieces_;
  std::uint64_t sequence_ = 0;
  std::uint64_t track_ = 0;
  std::int64_t last_ = 0;
  std::vector<bool> names_;
  std::map<std::string_view, std::uint64_t> categories_;
  std::unordered_map<std::string, std::uint64_t> texts_;
};

}  // namespace

void write_perfetto(const Profile& profile, const ExportOptions& options, const Sink& sink) {
  PerfettoWriter(profile, options, sink).write();
}

}  // namespace opyard::profiler
