// profiler/profile/fold.cpp: folding of library calls and internal operators.
#include "opyard/profiler/fold.h"

#include <algorithm>
#include <string_view>

namespace opyard::profiler {
namespace {

constexpr std::string_view kInternal = "opyard::";

// What is known of keys, looked up once.
class KeyFacts {
 public:
  explicit KeyFacts(const FoldRules& rules) : rules_(rules) {}

  Origin origin(std::uint32_t key) { return find(key).origin; }
  bool is_internal(std::uint32_t key) { return find(key).is_internal; }

 private:
  struct Facts {
    bool is_known = false;
    bool is_internal = false;
    Origin origin = Origin::Own;
  };
  const Facts& find(std::uint32_t key) {
    if (key >= facts_.size()) facts_.resize(std::size_t(key) * 3 / 2 + 64);
    Facts& found = facts_[key];
    if (!found.is_known) {
      const Name& name = name_of(key);
      found = {true, name.text.starts_with(kInternal), origin_of(name, rules_)};
    }
    return found;
  }

  const FoldRules& rules_;
  std::vector<Facts> facts_;
};

// Where a span is, for those inside it.
struct Place {
  std::uint32_t shown = kNoSpan;  // the nearest span of the folded track that is around
  bool in_library = false;        // the nearest function of Python around is a library's
  bool in_launcher = false;
  bool in_operator = false;  // that no function of the program is inside of
  bool is_kept = false;      // the span itself
};

// Whether a span is left out; `inside` becomes the place of those inside it, but for `shown`.
bool is_left_out(const Span& span, KeyFacts& facts, Place& inside) {
  const Place around = inside;
  switch (span.kind) {
    case SpanKind::Python: {
      const Origin origin = facts.origin(span.key);
      inside.in_library = origin != Origin::Own;
      inside.in_launcher = origin == Origin::Launcher && around.shown == kNoSpan;
      if (origin == Origin::Own) inside.in_operator = false;
      return inside.in_launcher || (inside.in_library && around.in_library && !around.in_launcher);
    }
    case SpanKind::C:
    case SpanKind::Callable:
      return around.in_library;
    case SpanKind::Operator:
    case SpanKind::Kernel:
      inside.in_operator = inside.in_library = true;
      return around.in_operator && facts.is_internal(span.key);
    default:
      return false;
  }
}

// Of each span, and how many are kept.
std::vector<Place> find_places(const Track& track, KeyFacts& facts, std::uint32_t& kept) {
  std::vector<Place> places(track.spans.size());
  for (std::size_t n = 0; n < track.spans.size(); ++n) {
    const Span& span = track.spans[n];
    Place& place = places[n];
    if (span.parent != kNoSpan) place = places[span.parent];
    place.is_kept = !is_left_out(span, facts, place);
    if (!place.is_kept) continue;
    place.shown = kept++;
    place.in_launcher = false;
  }
  return places;
}

Track fold_track(const Track& track, KeyFacts& facts) {
  Track folded;
  folded.native_id = track.native_id;
  folded.process = track.process;
  folded.name = track.name;
  folded.words = track.words;
  folded.thread_times = track.thread_times;
  std::uint32_t kept = 0;
  const std::vector<Place> places = find_places(track, facts, kept);
  folded.spans.reserve(kept);
  folded.hidden.resize(kept);
  for (std::size_t n = 0; n < track.spans.size(); ++n) {
    Span span = track.spans[n];
    if (places[n].is_kept) {
      if (span.parent != kNoSpan) span.parent = places[span.parent].shown;
      folded.spans.push_back(span);
    } else if (places[n].shown != kNoSpan && int(span.kind) <= int(SpanKind::Optimizer)) {
      HiddenCalls& hidden = folded.hidden[places[n].shown];
      ++(span.kind == SpanKind::Python ? hidden.python : hidden.other);
    }
  }
  folded.marks = track.marks;
  for (Mark& mark : folded.marks) {
    if (mark.parent != kNoSpan) mark.parent = places[mark.parent].shown;
  }
  return folded;
}

}  // namespace

Origin origin_of(const Name& name, const FoldRules& rules) {
  const std::string_view file = name.file;
  const auto begins = [&](const std::string& start) { return file.starts_with(start); };
  const auto has = [&](std::string_view part) { return file.find(part) != std::string_view::npos; };
  if (file.empty() || std::any_of(rules.own.begin(), rules.own.end(), begins)) return Origin::Own;
  const bool is_frozen = file.starts_with("<frozen ");
  // Some libraries name code that they make "<... internals>".
  if (!is_frozen && !file.ends_with(" internals>") && !has("/site-packages/") &&
      !has("/dist-packages/") &&
      std::none_of(rules.libraries.begin(), rules.libraries.end(), begins)) {
    return Origin::Own;
  }
  const bool is_runpy = file == "<frozen runpy>" || file.ends_with("/runpy.py");
  return is_runpy ? Origin::Launcher : Origin::Library;
}

bool folds_any(const Profile& profile, const FoldRules& rules) {
  KeyFacts facts(rules);
  return std::any_of(profile.tracks.begin(), profile.tracks.end(), [&](const Track& track) {
    std::uint32_t kept = 0;
    if (!track.is_derived) find_places(track, facts, kept);
    return !track.is_derived && kept < track.spans.size();
  });
}

Profile fold(const Profile& profile, const FoldRules& rules) {
  Profile folded;
  folded.processes = profile.processes;
  folded.quality = profile.quality;
  folded.duration = profile.duration;
  folded.unix_begin_ns = profile.unix_begin_ns;
  folded.monotonic_begin_ns = profile.monotonic_begin_ns;
  folded.ns_per_tick = profile.ns_per_tick;
  folded.sample_period_ns = profile.sample_period_ns;
  folded.sampled_lines = profile.sampled_lines;
  KeyFacts facts(rules);
  for (const Track& track : profile.tracks) {
    folded.tracks.push_back(track.is_derived ? track : fold_track(track, facts));
  }
  return folded;
}

}  // namespace opyard::profiler
