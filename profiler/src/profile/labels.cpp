// profiler/profile/labels.cpp: display names of spans.
#include "opyard/profiler/labels.h"

#include <map>
#include <queue>
#include <tuple>

namespace opyard::profiler {
namespace {

// Calls visit(track, index) for each span that is wanted, in the order of starts; at one time, the
// earlier track first.
template <typename Wanted, typename Visit>
void in_order_of_start(const Profile& profile, const Wanted& wanted, const Visit& visit) {
  using Head = std::tuple<std::int64_t, std::size_t, std::size_t>;  // start, track, index
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  const auto push = [&](std::size_t track, std::size_t from) {
    const std::vector<Span>& spans = profile.tracks[track].spans;
    while (from < spans.size() && !wanted(spans[from])) ++from;
    if (from < spans.size()) heads.emplace(spans[from].start, track, from);
  };
  for (std::size_t track = 0; track < profile.tracks.size(); ++track) push(track, 0);
  while (!heads.empty()) {
    const auto [start, track, index] = heads.top();
    heads.pop();
    visit(track, index);
    push(track, index + 1);
  }
}

}  // namespace

Labels::Labels(const Profile& profile, std::vector<std::string> prefixes)
    : entries_(std::size_t(last_key()) + 1), prefixes_(std::move(prefixes)) {
  number_instances(profile);
}

Labels::Entry& Labels::entry(std::uint32_t key) {
  if (key >= entries_.size()) key = 0;
  Entry& found = entries_[key];
  if (!found.known) {
    found.name = name_of(key);
    found.known = true;
  }
  return found;
}

const std::string& Labels::arguments(const Track& track, const Span& span) {
  static const std::string none;
  if (span.kind != SpanKind::Annotation || span.payload == kNoSpan) return none;
  return entry(std::uint32_t(track.words_of(span.payload)[0].first)).name.text;
}

void Labels::number_instances(const Profile& profile) {
  std::map<std::string, int> next;
  in_order_of_start(
      profile, [&](const Span& span) { return entry(span.key).name.kind == "instance"; },
      [&](std::size_t track, std::size_t index) {
        Entry& instance = entry(profile.tracks[track].spans[index].key);
        if (instance.instance < 0) instance.instance = next[instance.name.qualified]++;
      });
}

std::string Labels::trimmed(const std::string& file) const {
  for (const std::string& prefix : prefixes_) {
    if (!prefix.empty() && file.starts_with(prefix)) return file.substr(prefix.size());
  }
  return file;
}

const std::string& Labels::label(std::uint32_t key) {
  Entry& found = entry(key);
  if (!found.label.empty()) return found.label;
  const Name& name = found.name;
  if (!name.file.empty()) {
    found.label = trimmed(name.file) + "(" + std::to_string(name.line) + "): " + name.text;
  } else if (found.instance >= 0) {
    found.label = name.text + "_" + std::to_string(found.instance);
  } else {
    found.label = name.text.empty() ? "(unnamed)" : name.text;
  }
  return found.label;
}

std::vector<std::vector<std::uint32_t>> number_calls(const Profile& profile) {
  std::vector<std::vector<std::uint32_t>> numbers;
  for (const Track& track : profile.tracks) numbers.emplace_back(track.spans.size(), 0);
  std::uint32_t last = 0;
  in_order_of_start(
      profile, [](const Span& span) { return is_python_call(span.kind); },
      [&](std::size_t track, std::size_t index) { numbers[track][index] = ++last; });
  return numbers;
}

const char* cut_of(const Span& span) {
  if (span.has(SpanFlag::Before)) return "began before the profile";
  if (span.has(SpanFlag::After)) return "was open at the end of the profile";
  return span.has(SpanFlag::Clamped) ? "its end was not captured" : "";
}

}  // namespace opyard::profiler
