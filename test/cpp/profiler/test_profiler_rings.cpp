// test/cpp/profiler/test_profiler_rings.cpp: spans from a ring that was cut anywhere, with the stack that is live at its end.
// Suspect profiler/src/profile/replay.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "opyard/profiler/capture.h"
#include "opyard/profiler/profile.h"
#include "replay_events.h"

namespace opyard::profiler::test_profiler_rings {
namespace {

class Ring : public Replay {};

// The stack that is live when a ring is copied.
StartStack live_here(std::vector<std::uint32_t> keys) {
  StartStack stack = open_here(std::move(keys));
  stack.kinds.assign(stack.keys.size(), SpanKind::Python);
  return stack;
}
void python(std::uint32_t key, bool is_exit = false) {
  ++test_time;
  append_event(is_exit ? exit_of(SpanKind::Python) : enter_of(SpanKind::Python), key);
}
Profile replay_of_ring(Window& window, std::vector<std::uint32_t> live, std::uint32_t cut = 0) {
  Capture capture = window.end();
  capture.is_ring = true;
  capture.start_stacks = {live_here(std::move(live))};
  for (StreamCapture& stream : capture.streams) {
    for (Slice& slice : stream.slices) {  // of one block, or of two if one was full
      const std::uint32_t here = std::min(cut, slice.end - slice.begin);
      slice.begin += here;
      cut -= here;
    }
  }
  return replay(capture);
}
// Key and the parent's key of each span of the first track.
std::string kin_of(const Profile& profile) {
  std::string text;
  for (const Span& span : profile.tracks.at(0).spans) {
    text += std::to_string(span.key);
    if (span.parent != kNoSpan) {
      text += "<" + std::to_string(profile.tracks[0].spans[span.parent].key);
    }
    text += " ";
  }
  return text;
}

TEST_F(Ring, X19_ARingThatIsCutAnywhereHasEverySpanThatEndedLater) {
  std::mt19937 random(19);
  for (int round = 0; round < 300; ++round) {
    Window window;
    struct Model {
      std::uint32_t key, parent, begin, end;
    };
    std::vector<Model> spans;
    std::vector<std::uint32_t> open;  // by number
    const auto length = std::uint32_t(1 + random() % 60);
    for (std::uint32_t n = 0; n < length; ++n) {
      if (open.empty() || random() % 2 == 0) {
        const auto key = std::uint32_t(spans.size() + 1);
        spans.push_back({key, open.empty() ? 0 : spans[open.back()].key, n, length});
        open.push_back(key - 1);
        python(key);
      } else {
        spans[open.back()].end = n;
        python(spans[open.back()].key, true);
        open.pop_back();
      }
    }
    std::vector<std::uint32_t> live;
    for (const std::uint32_t number : open) live.push_back(spans[number].key);
    const auto cut = std::uint32_t(random() % length);
    std::string wanted;
    for (const Model& span : spans) {
      if (span.end < cut) continue;
      wanted += std::to_string(span.key);
      if (span.parent != 0) wanted += "<" + std::to_string(span.parent);
      wanted += " ";
    }
    const Profile profile = replay_of_ring(window, live, cut);
    expect_nested(profile);
    EXPECT_EQ(kin_of(profile), wanted);
    EXPECT_EQ(profile.quality.dropped_exits, 0u);
    EXPECT_EQ(profile.quality.clamped, 0u);
  }
}

// As where a profile that leaves calls of C out ends within one.
TEST_F(Ring, X19_AnExitInARingWhoseEntryWasNotToldLeavesOpenWhatIsOpen) {
  Window window;
  python(2);
  exit(9);
  python(3);
  python(3, true);
  const Profile profile = replay_of_ring(window, {1, 2});
  EXPECT_EQ(kin_of(profile), "1 2<1 3<2 ");
  EXPECT_EQ(profile.quality.dropped_exits, 1u);
  EXPECT_EQ(profile.quality.open_after, 2u);
}

TEST_F(Ring, X19_InARingThatLostExitsTheLiveStackSaysWhatIsOpen) {
  Window window;
  python(2);  // whose exit was lost, and then its caller ends
  python(5, true);
  python(3);
  const Profile profile = replay_of_ring(window, {1, 3});
  EXPECT_EQ(kin_of(profile), "1 5<1 2<5 3<1 ");
  EXPECT_EQ(profile.quality.clamped, 1u);
}

TEST_F(Ring, X19_AnyEventsOfARingNest) {
  std::mt19937 random(53);
  for (int round = 0; round < 300; ++round) {
    Window window;
    const auto length = std::uint32_t(1 + random() % 100);
    for (std::uint32_t n = 0; n < length; ++n) {
      const auto key = std::uint32_t(1 + random() % 6);
      const auto kind = SpanKind(random() % 3);
      test_time += random() % 3;
      append_event(random() % 2 == 0 ? enter_of(kind) : exit_of(kind), key);
    }
    std::vector<std::uint32_t> live;
    while (random() % 4 != 0) live.push_back(std::uint32_t(1 + random() % 6));
    const auto cut = std::uint32_t(random() % length);
    const Profile profile = replay_of_ring(window, live, cut);
    expect_nested(profile);
    EXPECT_EQ(profile.quality.events, length - cut);
  }
}

}  // namespace
}  // namespace opyard::profiler::test_profiler_rings
