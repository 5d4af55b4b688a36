// opyard/profiler/profile.h: Profile: nested spans and marks of each thread.
//
// replay() makes it in one pass over each thread's events, whatever they are: it never fails, and
// what it returns always nests. What it had to leave out or make up is counted in Quality, which
// every export shows.
//
// Times are nanoseconds since the window began.
//
// Depends on: profiler/capture.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "opyard/profiler/capture.h"

namespace opyard::profiler {

inline constexpr std::uint32_t kNoSpan = ~std::uint32_t{0};

enum class SpanFlag : std::uint8_t {
  Before = 1,   // was open when the window began: its start is the window's
  After = 2,    // was open when the window ended: its end is the window's
  Clamped = 4,  // its exit was lost: it ends with a span around it
};

struct Span {
  std::int64_t start;
  std::int64_t end;
  std::uint32_t key;
  std::uint32_t parent;  // in the same track, before this one; or kNoSpan
  std::uint32_t
      payload;  // where its words begin in the track's `words`; their number is there first
  SpanKind kind;
  std::uint8_t flags;
  std::uint16_t detail;

  bool has(SpanFlag flag) const noexcept { return (flags & std::uint8_t(flag)) != 0; }
  std::int64_t duration() const noexcept { return end - start; }
};
static_assert(sizeof(Span) == 32);

// A point in time on a track.
struct Mark {
  std::int64_t time;
  std::uint32_t key;
  std::uint32_t parent;
  std::uint32_t payload;
  MarkKind kind;
  std::uint16_t detail;
};

// The CPU time that a thread had taken by then, both in nanoseconds.
struct ThreadTime {
  std::int64_t time;
  std::uint64_t taken;
};

// Calls inside of a span that are not shown, since the track is folded.
struct HiddenCalls {
  std::uint32_t python = 0;
  std::uint32_t other = 0;
};

struct Track {
  std::int64_t native_id = 0;
  // Of a profile of several processes, which one: 0 is the one it began with, else a number from 1
  // of `processes`.
  std::uint32_t process = 0;
  std::string name;
  // Made of what the threads did: of a task or of futures, see profiler/{tasks,futures}.h.
  bool is_derived = false;
  std::vector<Span> spans;  // in the order of their starts: a parent before its children
  std::vector<Mark> marks;
  std::vector<Payload> words;
  std::vector<HiddenCalls> hidden;       // of each span of a folded track; else empty
  std::vector<ThreadTime> thread_times;  // in the order of time; empty if none is known

  // The words of an event, from where it says that they begin.
  std::span<const Payload> words_of(std::uint32_t payload) const noexcept {
    return {words.data() + payload + 1, std::size_t(words[payload].first)};
  }
};

// What was lost, and what was made up.
struct Quality {
  std::uint64_t events = 0;         // that were captured
  std::uint64_t lost = 0;           // not captured: no memory
  std::uint64_t dropped_exits = 0;  // of something that was not open
  std::uint64_t clamped = 0;        // spans whose exit was lost
  std::uint64_t open_before = 0;    // spans whose start is the window's
  std::uint64_t open_after = 0;     // spans whose end is the window's
  std::uint64_t backwards = 0;      // events that were earlier than the one before
  std::uint64_t broken = 0;         // events that are of no kind, or whose words are missing
  std::vector<std::pair<std::string, std::uint64_t>> notes;

  // Of another process.
  OPYARD_API void add(const Quality& other);
};

// A process that a profile has tracks of.
struct ProcessOfProfile {
  std::int64_t id = 0;
  std::int64_t parent = 0;
  std::string name;
};

// Time that was sampled at a line of a function.
struct SampledLine {
  std::uint32_t key;
  std::int32_t line;
  std::int64_t self;  // nanoseconds, as the next
  std::int64_t self_thread_time;
  std::int64_t total;  // with that of what it called
};

struct Profile {
  std::vector<Track> tracks;
  std::vector<ProcessOfProfile> processes;  // further ones
  Quality quality;
  std::int64_t duration = 0;
  std::uint64_t unix_begin_ns = 0;
  std::uint64_t monotonic_begin_ns = 0;
  double ns_per_tick = 1;
  // Of a sampled profile, see profiler/samples.h: the time between two samples. A span is then a
  // stack, and no call.
  std::int64_t sample_period_ns = 0;
  std::vector<SampledLine> sampled_lines;  // in the order of keys and lines

  std::uint64_t span_count() const noexcept {
    std::uint64_t count = 0;
    for (const Track& track : tracks) count += track.spans.size();
    return count;
  }
};

// How many samples a time is, of a sampled profile: one at least, if it is not 0.
inline std::uint64_t sample_count(const Profile& profile, std::int64_t ns) noexcept {
  const std::int64_t period = profile.sample_period_ns;
  const std::int64_t count = (ns + period / 2) / period;
  return std::uint64_t(count == 0 && ns > 0 ? 1 : count);
}

// Throws std::bad_alloc, and nothing else.
OPYARD_API Profile replay(const Capture& capture);

}  // namespace opyard::profiler
