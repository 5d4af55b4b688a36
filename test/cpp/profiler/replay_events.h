// test/cpp/profiler/replay_events.h: events by a clock of the test's own, and short forms of their spans.
//
// Replay is the fixture: enter() and exit() move the clock and append an event of this thread.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "opyard/profiler/capture.h"
#include "opyard/profiler/profile.h"

namespace opyard::profiler {

inline std::atomic<std::uint64_t> test_time{1000};

class Replay : public testing::Test {
 protected:
  void SetUp() override {
    set_test_clock([] { return test_time.load(); });
  }
  void TearDown() override { set_test_clock(nullptr); }

  static void enter(std::uint32_t key, int after = 1) {
    test_time += std::uint64_t(after);
    append_event(enter_of(SpanKind::Annotation), key);
  }
  static void exit(std::uint32_t key, int after = 1) {
    test_time += std::uint64_t(after);
    append_event(exit_of(SpanKind::Annotation), key);
  }
};

// What is open on this thread when a window begins.
inline StartStack open_here(std::vector<std::uint32_t> keys) {
  StartStack stack;
  stack.handle = std::uint64_t(pthread_self());
  stack.kinds.assign(keys.size(), SpanKind::Annotation);
  stack.keys = std::move(keys);
  return stack;
}

// Key, start, end, parent of each span of the first track.
inline std::string text_of(const Profile& profile) {
  std::string text;
  if (profile.tracks.empty()) return "no track";
  for (const Span& span : profile.tracks[0].spans) {
    text += std::to_string(span.key) + ":" + std::to_string(span.start) + "-" +
            std::to_string(span.end);
    if (span.parent != kNoSpan) text += "<" + std::to_string(span.parent);
    text += " ";
  }
  return text;
}

inline void expect_nested(const Profile& profile) {
  for (const Track& track : profile.tracks) {
    std::vector<std::int64_t> last_child_end(track.spans.size(), 0);
    std::int64_t last_root_end = 0;
    for (std::size_t n = 0; n < track.spans.size(); ++n) {
      const Span& span = track.spans[n];
      ASSERT_LE(span.start, span.end);
      std::int64_t& before = span.parent == kNoSpan ? last_root_end : last_child_end[span.parent];
      ASSERT_GE(span.start, before) << "siblings overlap";
      before = span.end;
      if (span.parent == kNoSpan) continue;
      ASSERT_LT(span.parent, n);
      ASSERT_GE(span.start, track.spans[span.parent].start);
      ASSERT_LE(span.end, track.spans[span.parent].end);
    }
  }
}

}  // namespace opyard::profiler
