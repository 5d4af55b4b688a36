// profiler/profile/futures.cpp: tracks of futures.
#include "opyard/profiler/futures.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <utility>
#include <vector>

#include "opyard/profiler/names.h"
#include "opyard/profiler/session.h"
#include "opyard/profiler/stream.h"

namespace opyard::profiler {
namespace {

// Above the numbers of tasks; see tasks.cpp.
constexpr std::int64_t kFirstId = 2'000'000'000;

void append_future_mark(MarkKind kind, std::uint32_t name, std::uint64_t number) noexcept {
  const Payload word{number, 0};
  if (Stream* const stream = Stream::current()) stream->append(event_of(kind), name, 0, &word, 1);
}

bool is_of_future(const Mark& mark) {
  return mark.kind == MarkKind::FutureWatched || mark.kind == MarkKind::FutureCompleted;
}

// By the start of each. A completion alone is of a future that an earlier profile watched.
std::vector<Span> find_futures(const Profile& profile) {
  std::vector<Span> spans;
  std::unordered_map<std::uint64_t, std::size_t> by_number;
  const auto each = [&](MarkKind kind, const auto& visit) {
    for (const Track& track : profile.tracks) {
      for (const Mark& mark : track.marks) {
        if (mark.kind == kind && mark.payload != kNoSpan) {
          visit(mark, track.words_of(mark.payload)[0].first);
        }
      }
    }
  };
  each(MarkKind::FutureWatched, [&](const Mark& mark, std::uint64_t number) {
    by_number[number] = spans.size();
    spans.push_back({mark.time, profile.duration, mark.key, kNoSpan, kNoSpan, SpanKind::Future,
                     std::uint8_t(SpanFlag::After), 0});
  });
  each(MarkKind::FutureCompleted, [&](const Mark& mark, std::uint64_t number) {
    const auto found = by_number.find(number);
    if (found == by_number.end()) return;
    Span& span = spans[found->second];
    span.end = std::max(mark.time, span.start);  // two threads are not exact to each other
    span.flags = 0;
  });
  for (Span& span : spans) span.end = std::max(span.end, span.start);
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.start < b.start; });
  return spans;
}

}  // namespace

std::uint64_t begin_future(std::uint32_t name) noexcept {
  static std::atomic<std::uint64_t> last{0};
  const std::uint64_t number = ++last;
  append_future_mark(MarkKind::FutureWatched, name, number);
  return number;
}

void end_future(std::uint32_t name, std::uint64_t number) noexcept {
  if (Session::is_active()) append_future_mark(MarkKind::FutureCompleted, name, number);
}

void watch_future(FutureObject& future, const std::string& name) {
  if (!Session::is_active()) return;
  Name shown;
  shown.text = name;
  shown.kind = "future";
  const std::uint32_t key = add_name(std::move(shown));
  const std::uint64_t number = begin_future(key);
  future.add_callback([key, number](FutureObject&) { end_future(key, number); });
}

void add_future_tracks(Profile& profile) {
  const std::vector<Span> spans = find_futures(profile);
  for (Track& track : profile.tracks) std::erase_if(track.marks, is_of_future);
  const std::size_t first = profile.tracks.size();
  for (const Span& span : spans) {
    const auto free =
        std::find_if(profile.tracks.begin() + std::ptrdiff_t(first), profile.tracks.end(),
                     [&](const Track& track) { return track.spans.back().end <= span.start; });
    if (free != profile.tracks.end()) {
      free->spans.push_back(span);
      continue;
    }
    Track track;
    track.native_id = kFirstId + std::int64_t(profile.tracks.size() - first);
    track.name = "futures";
    track.is_derived = true;
    track.spans.push_back(span);
    profile.tracks.push_back(std::move(track));
  }
}

}  // namespace opyard::profiler
