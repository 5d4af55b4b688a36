// profiler/profile/links.cpp: links from backward functions to calls. See [Links] in functions.cpp.
#include "opyard/detail/profiler/links.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace opyard::profiler {
namespace {

// Of what accumulates gradients in a leaf, which no call made.
constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};

// Finds the call that begins next where a mark is.
class NextCalls {
 public:
  explicit NextCalls(const Track& track) : track_(track) {}

  // Or kNoSpan.
  std::uint32_t behind(const Mark& mark) {
    if (next_.empty()) find_all();
    const auto at =
        std::lower_bound(track_.spans.begin(), track_.spans.end(), mark.time,
                         [](const Span& a, std::int64_t time) { return a.start < time; });
    const std::uint32_t call = next_[std::size_t(at - track_.spans.begin())];
    return call == kNoSpan || track_.spans[call].parent != mark.parent ? kNoSpan : call;
  }

 private:
  void find_all() {
    next_.assign(track_.spans.size() + 1, kNoSpan);
    for (std::size_t n = track_.spans.size(); n-- > 0;) {
      next_[n] = track_.spans[n].kind == SpanKind::Operator ? std::uint32_t(n) : next_[n + 1];
    }
  }

  const Track& track_;
  std::vector<std::uint32_t> next_;  // of each span, and of the end, the first call from there on
};

std::pair<std::uint32_t, std::uint32_t> place_of(const LinkEnd& end) {
  return {end.track, end.span};
}

}  // namespace

Links::Links(const Profile& profile) {
  using Function = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;
  std::map<Function, std::vector<std::size_t>> ends_of;  // by process, identity and number
  for (std::size_t track = 0; track < profile.tracks.size(); ++track) {
    const Track& of = profile.tracks[track];
    NextCalls calls(of);
    std::uint32_t run = kNoSpan;  // the last one that has its mark: the first inside of it
    for (const Mark& mark : of.marks) {
      if (mark.kind != MarkKind::Function || mark.payload == kNoSpan) continue;
      const Payload words = of.words_of(mark.payload)[0];
      const bool is_run = mark.parent != kNoSpan && mark.parent != run &&
                          of.spans[mark.parent].kind == SpanKind::Backward;
      if (is_run) run = mark.parent;
      const std::uint32_t span = mark.detail != 0 ? calls.behind(mark) : mark.parent;
      if (words.second == kNoNumber || span == kNoSpan) continue;
      std::vector<std::size_t>& ends = ends_of[{of.process, words.first, words.second}];
      // The call that a function is of says more than who made it.
      if (mark.detail != 0 && !ends.empty() && !ends_[ends.back()].is_run) {
        ends_[ends.back()].span = span;
        continue;
      }
      ends.push_back(ends_.size());
      ends_.push_back({std::uint32_t(track), span, words.second, 0, is_run});
    }
  }
  std::uint64_t link = 0;
  for (const auto& [function, ends] : ends_of) {
    const auto is_run = [&](std::size_t end) { return ends_[end].is_run; };
    if (!std::any_of(ends.begin(), ends.end(), is_run)) continue;
    if (std::all_of(ends.begin(), ends.end(), is_run)) continue;
    ++link;
    for (const std::size_t end : ends) ends_[end].link = link;
    const std::size_t call = *std::find_if_not(ends.begin(), ends.end(), is_run);
    tracks_of_calls_.push_back(ends_[call].track);
  }
  std::stable_sort(ends_.begin(), ends_.end(),
                   [](const LinkEnd& a, const LinkEnd& b) { return place_of(a) < place_of(b); });
}

std::span<const LinkEnd> Links::of(std::size_t track) const noexcept {
  const auto [first, last] =
      std::equal_range(ends_.begin(), ends_.end(), LinkEnd{std::uint32_t(track), 0, 0, 0, false},
                       [](const LinkEnd& a, const LinkEnd& b) { return a.track < b.track; });
  return {first, last};
}

std::span<const LinkEnd> Links::of(std::size_t track, std::size_t span) const noexcept {
  if (ends_.empty()) return {};
  const std::pair place{std::uint32_t(track), std::uint32_t(span)};
  const auto first =
      std::lower_bound(ends_.begin(), ends_.end(), place,
                       [](const LinkEnd& end, const auto& at) { return place_of(end) < at; });
  auto last = first;
  while (last != ends_.end() && place_of(*last) == place) ++last;
  return {first, last};
}

}  // namespace opyard::profiler
