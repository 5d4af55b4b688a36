// profiler/profile/replay.cpp: replay: events to spans.
//
// [One pass] The events of a thread are in the order in which they happened, so a stack gives the
// spans: an enter opens one, an exit closes it. An exit carries its enter's key and kind. If that
// span is open, what is above it lost its exit, and ends here; if it is not open, the exit is
// dropped: its enter was before the window, or was lost. How many spans of a key are open is
// counted, so that an exit of none is found without a search.
//
// [Known] A call that Python tells of after a window has found it open is the innermost one of the
// window's start stack. In a ring it was not open, and is a call like any other.
//
// [Greenlets] A thread may have several stacks, and say when it goes from one to another. Each is a
// track of its own, the first one the thread's.
//
// [Time] Within a thread ticks do not run backwards. If they did, by a clock that is broken, an
// event takes the time of the one before it: so a child never leaves its parent.
#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <unordered_map>
#include <utility>

#include "opyard/detail/profiler/tasks.h"
#include "opyard/profiler/futures.h"
#include "opyard/profiler/profile.h"
#include "profile/ring_stack.h"

namespace opyard::profiler {
namespace {

// In nanoseconds. Times of a damaged capture may be any: what is between two of them is bounded,
// so that it can be added up.
std::int64_t since(std::int64_t origin, std::int64_t time) {
  constexpr std::int64_t kMost = std::int64_t{1} << 61;
  const auto passed = std::int64_t(std::uint64_t(time) - std::uint64_t(origin));
  return std::clamp(passed, -kMost, kMost);
}

// How many spans of each key are open. Keys are dense: they come from one counter.
class OpenKeys {
 public:
  void add(std::uint32_t key, int change) {
    if (key >= kDense) {
      others_[key] += change;
      return;
    }
    if (key >= counts_.size()) counts_.resize(std::size_t(key) * 3 / 2 + 64, 0);
    counts_[key] += change;
  }
  bool has(std::uint32_t key) const {
    if (key < kDense) return key < counts_.size() && counts_[key] > 0;
    const auto found = others_.find(key);
    return found != others_.end() && found->second > 0;
  }

 private:
  // A key past this is of no name: a stream that was damaged.
  static constexpr std::uint32_t kDense = 1u << 24;
  std::vector<int> counts_;
  std::unordered_map<std::uint32_t, int> others_;
};

class ThreadReplay {
 public:
  // Of a ring, what ended before the capture began is left out.
  ThreadReplay(Track& track, Quality& quality, bool of_ring)
      : track_(track), quality_(quality), of_ring_(of_ring) {}

  void open_before(const StartStack& stack) {
    for (std::size_t n = 0; n < stack.keys.size(); ++n) {
      enter(0, stack.kinds[n], stack.keys[n], 0, kNoSpan);
      track_.spans.back().flags |= std::uint8_t(SpanFlag::Before);
      ++quality_.open_before;
    }
    // Nothing that follows was inside them.
    for (std::uint32_t n = 0; n < stack.lost_ends && !stack_.empty(); ++n) {
      ++quality_.clamped;
      pop(0, SpanFlag::Clamped);
    }
  }

  // Whether something ended in it that had not begun.
  bool has_dropped_exits() const noexcept { return has_dropped_exits_; }

  // Up to a switch, which is taken from the slice with what is before it; whether there is one.
  bool read(Slice& slice, const TickConverter& converter, std::int64_t origin, Payload& to) {
    const Event* const events = slice.block->events;
    for (std::uint32_t n = slice.begin; n < slice.end; ++n) {
      const Event event = events[n];
      if (slice.end - n - 1 < event.payload || int(event.kind) >= 2 * kSpanKinds + kMarkKinds) {
        ++quality_.broken;
        n += std::min<std::uint32_t>(event.payload, slice.end - n - 1);
        continue;
      }
      const std::int64_t raw = since(origin, converter.monotonic_ns(event.ticks));
      is_before_ = of_ring_ && raw < 0;
      quality_.events += is_before_ ? 0 : 1;
      const std::int64_t time = is_before_ ? 0 : never_backwards(raw);
      std::uint32_t payload = kNoSpan;
      if (event.payload != 0) {
        payload = keep_words(events + n + 1, event.payload);
        n += event.payload;
      }
      if (event.kind == event_of(MarkKind::Switch) && payload != kNoSpan) {
        to = track_.words_of(payload)[0];
        track_.words.resize(payload);
        slice.begin = n + 1;
        return true;
      }
      if (event.kind == event_of(MarkKind::ThreadTime)) {
        quality_.events -= is_before_ ? 0 : 1;  // of no use but to others
        if (payload == kNoSpan) continue;
        if (!is_before_) track_.thread_times.push_back({time, track_.words_of(payload)[0].first});
        track_.words.resize(payload);
      } else if (event.kind == event_of(MarkKind::KnownCall)) {
        is_known_ = !of_ring_;
      } else if (is_mark(event.kind)) {
        if (is_before_) continue;
        track_.marks.push_back(
            {time, event.key, top(), payload, mark_of(event.kind), event.detail});
      } else if (is_exit(event.kind)) {
        exit(time, span_of(event.kind), event.key);
      } else {
        enter(time, span_of(event.kind), event.key, event.detail, payload);
      }
    }
    return false;
  }

  void add_thread_time(std::int64_t time, std::uint64_t taken) {
    track_.thread_times.push_back({std::max(time, last_), taken});
  }

  void close_all(std::int64_t end) {
    end = std::max(end, last_);  // a thread goes on while the window ends
    quality_.open_after += stack_.size();
    while (!stack_.empty()) pop(end, SpanFlag::After);
  }

 private:
  struct Open {
    std::uint32_t span;
    std::uint32_t key;  // of its events
  };

  // Whether it is the innermost one.
  bool is_open(SpanKind kind, std::uint32_t key) const {
    return !stack_.empty() && stack_.back().key == key &&
           track_.spans[stack_.back().span].kind == kind;
  }
  std::uint32_t top() const { return stack_.empty() ? kNoSpan : stack_.back().span; }

  std::int64_t never_backwards(std::int64_t time) {
    if (time < last_raw_) ++quality_.backwards;
    last_raw_ = time;
    return last_ = std::max(time, last_);
  }

  std::uint32_t keep_words(const Event* from, std::uint8_t count) {
    const auto at = std::uint32_t(track_.words.size());
    track_.words.push_back({count, 0});
    track_.words.resize(at + 1 + count);
    std::memcpy(track_.words.data() + at + 1, from, count * sizeof(Payload));
    return at;
  }

  void enter(std::int64_t time, SpanKind kind, std::uint32_t key, std::uint16_t detail,
             std::uint32_t payload) {
    // Shown by instance: the word behind the event is its key, if it has one.
    const bool by_instance = kind == SpanKind::Module || kind == SpanKind::Optimizer;
    const std::uint64_t instance =
        by_instance && payload != kNoSpan ? track_.words[payload + 1].first : 0;
    const std::uint32_t shown = instance == 0 ? key : std::uint32_t(instance);
    if (std::exchange(is_known_, false) && is_open(kind, key)) {
      Span& span = track_.spans[stack_.back().span];
      span.key = shown;
      span.payload = payload;
      span.detail = detail;
      return;
    }
    const auto index = std::uint32_t(track_.spans.size());
    track_.spans.push_back({time, time, shown, top(), payload, kind, 0, detail});
    if (is_before_) {
      track_.spans.back().flags |= std::uint8_t(SpanFlag::Before);
      ++quality_.open_before;
    }
    stack_.push_back({index, key});
    open_[int(kind)].add(key, +1);
  }

  void exit(std::int64_t time, SpanKind kind, std::uint32_t key) {
    if (!open_[int(kind)].has(key)) {
      quality_.dropped_exits += is_before_ ? 0 : 1;
      has_dropped_exits_ = has_dropped_exits_ || !is_before_;
      return;
    }
    for (;;) {
      const Span& span = track_.spans[stack_.back().span];
      if (stack_.back().key == key && span.kind == kind) return pop(time, SpanFlag{});
      quality_.clamped += is_before_ ? 0 : 1;
      pop(time, SpanFlag::Clamped);
    }
  }

  void pop(std::int64_t time, SpanFlag flag) {
    Span& span = track_.spans[stack_.back().span];
    span.end = time;
    span.flags |= std::uint8_t(flag);
    open_[int(span.kind)].add(stack_.back().key, -1);
    stack_.pop_back();
    if (!is_before_) return;
    track_.spans.pop_back();  // what was inside went before, so it is the last one
    --quality_.open_before;
  }

  Track& track_;
  Quality& quality_;
  std::vector<Open> stack_;
  OpenKeys open_[kSpanKinds];
  const bool of_ring_;
  bool is_known_ = false;   // the call that is entered next, see [Known]
  bool is_before_ = false;  // the event that is being read
  bool has_dropped_exits_ = false;
  std::int64_t last_ = 0;
  std::int64_t last_raw_ = std::numeric_limits<std::int64_t>::min();
};

// See [Greenlets].
class StreamReplay {
 public:
  StreamReplay(Track first, Profile& profile, bool of_ring) : profile_(profile), of_ring_(of_ring) {
    current_ = &add(std::move(first));
  }

  ThreadReplay& first() { return stacks_.front().replay; }

  void read(Slice slice, const TickConverter& converter, std::int64_t origin) {
    Payload to{};
    while (current_->read(slice, converter, origin, to)) switch_to(to);
  }

  void close_all(std::int64_t end) {
    std::uint64_t begun_before = 0;
    for (Stack& stack : stacks_) {
      const bool is_greenlet = &stack != &stacks_.front();
      // What a thread took cannot be told apart by greenlets.
      if (stacks_.size() > 1) stack.track.thread_times.clear();
      begun_before += is_greenlet && !of_ring_ && stack.replay.has_dropped_exits() ? 1 : 0;
      stack.replay.close_all(end);
      profile_.tracks.push_back(std::move(stack.track));
    }
    note("greenlets whose calls are mixed with those of others", mixed_);
    note("greenlets that began before the profile, without the calls that were open in them",
         begun_before);
  }

 private:
  // Above every number that Linux gives to threads, and those of tasks.
  static constexpr std::int64_t kFirstGreenletId = 2'000'000'000;

  // Of a thread. Addresses of greenlets that have ended are given again, so few programs have more.
  static constexpr std::size_t kMostStacks = 4096;

  struct Stack {
    Stack(Track given, Quality& quality, bool of_ring)
        : track(std::move(given)), replay(track, quality, of_ring) {}
    Track track;
    ThreadReplay replay;
  };

  ThreadReplay& add(Track track) {
    return stacks_.emplace_back(std::move(track), profile_.quality, of_ring_).replay;
  }

  void note(const char* text, std::uint64_t count) {
    if (count == 0) return;
    Quality more;
    more.notes.emplace_back(text, count);
    profile_.quality.add(more);
  }

  // Words of the greenlet that it comes from, and of the one that it goes on with.
  void switch_to(Payload words) {
    if (of_greenlet_.empty()) of_greenlet_[words.first] = current_;
    ThreadReplay*& found = of_greenlet_[words.second];
    if (found == nullptr && stacks_.size() >= kMostStacks) {
      found = &first();
      mixed_ += 1;
    }
    if (found == nullptr) {
      const std::size_t number = stacks_.size();
      Track track;
      track.native_id = kFirstGreenletId + std::int64_t(profile_.tracks.size() + number);
      track.name = "greenlet " + std::to_string(number) + " of thread " +
                   std::to_string(stacks_.front().track.native_id);
      found = &add(std::move(track));
    }
    current_ = found;
  }

  Profile& profile_;
  const bool of_ring_;
  std::deque<Stack> stacks_;  // never moves what it holds
  std::unordered_map<std::uint64_t, ThreadReplay*> of_greenlet_;
  ThreadReplay* current_;
  std::uint64_t mixed_ = 0;
};

bool is_of(const StartStack& stack, const StreamCapture& stream) {
  if (stack.native_id != 0) return stack.native_id == stream.native_id;
  return stack.handle == stream.handle;
}

// A handle may be given again to a thread that comes later, so the system's number goes first.
void name_track(const Capture& capture, std::int64_t native_id, std::uint64_t handle,
                Track& track) {
  for (const ThreadName& thread : capture.thread_names) {
    const bool both_known = native_id != 0 && thread.native_id != 0;
    if (both_known ? thread.native_id != native_id : thread.handle != handle) continue;
    track.name = thread.name;
    if (thread.native_id != 0) track.native_id = thread.native_id;
  }
}

}  // namespace

Profile replay(const Capture& capture) {
  Profile profile;
  profile.unix_begin_ns = capture.unix_begin_ns;
  profile.monotonic_begin_ns = capture.begin.monotonic_ns;
  profile.quality.notes = capture.notes;
  const TickConverter converter(capture.first_pair, capture.end);
  profile.ns_per_tick = converter.ns_per_tick();
  const std::int64_t origin = converter.monotonic_ns(capture.begin.ticks);
  profile.duration =
      std::max<std::int64_t>(0, since(origin, converter.monotonic_ns(capture.end.ticks)));

  std::vector<bool> used(capture.start_stacks.size(), false);
  for (const StreamCapture& stream : capture.streams) {
    profile.quality.lost += stream.lost;
    std::size_t stack = 0;
    while (stack < used.size() && (used[stack] || !is_of(capture.start_stacks[stack], stream))) {
      ++stack;
    }
    const bool has_stack = stack < used.size();
    if (stream.slices.empty() && !has_stack) continue;
    Track track;
    track.native_id = stream.native_id;
    name_track(capture, stream.native_id, stream.handle, track);
    std::uint64_t events = 0;
    for (const Slice& slice : stream.slices) events += slice.end - slice.begin;
    // A span is two events, but for those that were open at the start or are at the end: one span
    // too many would make the vector allocate twice what it holds.
    const std::uint64_t cut = 256 + (has_stack ? capture.start_stacks[stack].keys.size() : 0);
    track.spans.reserve(events / 2 + std::min(events, cut));
    StreamReplay thread(std::move(track), profile, capture.is_ring);
    const StartStack none;
    const StartStack& open = has_stack ? capture.start_stacks[stack] : none;
    if (has_stack) used[stack] = true;
    if (!capture.is_ring) {
      if (open.first_thread_time_ns != 0) {
        thread.first().add_thread_time(0, open.first_thread_time_ns);
      }
      thread.first().open_before(open);
    } else if (!has_switches(stream.slices)) {
      thread.first().open_before(stack_of_ring(open, stream.slices));
    }
    for (const Slice& slice : stream.slices) thread.read(slice, converter, origin);
    if (stream.last_thread_time_ns != 0) {
      const std::int64_t at = converter.monotonic_ns(stream.last_thread_time_ticks);
      thread.first().add_thread_time(since(origin, at), stream.last_thread_time_ns);
    }
    thread.close_all(profile.duration);
  }
  // Threads that did nothing while the window was open: blocked in a call, or asleep.
  for (std::size_t n = 0; n < used.size(); ++n) {
    const StartStack& stack = capture.start_stacks[n];
    if (used[n] || stack.keys.empty()) continue;
    profile.tracks.emplace_back();
    profile.tracks.back().native_id =
        stack.native_id != 0 ? stack.native_id : std::int64_t(stack.handle);
    name_track(capture, stack.native_id, stack.handle, profile.tracks.back());
    ThreadReplay thread(profile.tracks.back(), profile.quality, false);
    if (!capture.is_ring && stack.first_thread_time_ns != 0 && stack.last_thread_time_ns != 0) {
      thread.add_thread_time(0, stack.first_thread_time_ns);
      thread.add_thread_time(profile.duration, stack.last_thread_time_ns);
    }
    thread.open_before(stack);
    thread.close_all(profile.duration);
  }
  add_task_tracks(profile);
  add_future_tracks(profile);
  return profile;
}

}  // namespace opyard::profiler
