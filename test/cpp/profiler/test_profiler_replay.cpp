// test/cpp/profiler/test_profiler_replay.cpp: spans from any events at all, against a model.
// Suspect profiler/src/profile/replay.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "opyard/profiler/averages.h"
#include "opyard/profiler/capture.h"
#include "opyard/profiler/futures.h"
#include "opyard/profiler/labels.h"
#include "opyard/profiler/names.h"
#include "opyard/profiler/profile.h"
#include "replay_events.h"

namespace opyard::profiler::test_profiler_replay {
namespace {

TEST_F(Replay, SpansNestAsTheyWereEntered) {
  Window window;
  enter(1);
  enter(2);
  exit(2);
  enter(3);
  exit(3);
  exit(1);
  const Profile profile = replay(window.end());
  EXPECT_EQ(text_of(profile), "1:1-6 2:2-3<0 3:4-5<0 ");
  EXPECT_EQ(profile.quality.events, 6u);
}

TEST_F(Replay, I28_AnExitOfNothingIsDroppedAndCounted) {
  Window window;
  exit(7);
  enter(1);
  exit(2);
  exit(1);
  exit(1);
  const Profile profile = replay(window.end());
  EXPECT_EQ(text_of(profile), "1:2-4 ");
  EXPECT_EQ(profile.quality.dropped_exits, 3u);
  EXPECT_EQ(profile.quality.clamped, 0u);
}

TEST_F(Replay, AnExitClosesWhatLostItsOwn) {
  Window window;
  enter(1);
  enter(2);
  enter(3);
  exit(1);
  enter(4);
  exit(4);
  const Profile profile = replay(window.end());
  EXPECT_EQ(text_of(profile), "1:1-4 2:2-4<0 3:3-4<1 4:5-6 ");
  EXPECT_EQ(profile.quality.clamped, 2u);
}

TEST_F(Replay, I29_ExitsAfterTheLastEnterAreApplied) {
  Window window;
  enter(1);
  enter(2);
  exit(2, 10);
  exit(1, 10);
  test_time += 1000;
  EXPECT_EQ(text_of(replay(window.end())), "1:1-22 2:2-12<0 ");
}

TEST_F(Replay, WhatIsOpenAtTheEndEndsWithTheWindow) {
  Window window;
  enter(1);
  enter(2);
  test_time += 8;
  const Profile profile = replay(window.end());
  EXPECT_EQ(text_of(profile), "1:1-10 2:2-10<0 ");
  EXPECT_TRUE(profile.tracks[0].spans[1].has(SpanFlag::After));
  EXPECT_EQ(profile.quality.open_after, 2u);
}

TEST_F(Replay, I30_EventsOfOneMomentKeepTheirOrder) {
  Window window;
  enter(1, 5);
  exit(1, 0);
  enter(2, 0);
  enter(3, 0);
  exit(3, 0);
  exit(2, 0);
  EXPECT_EQ(text_of(replay(window.end())), "1:5-5 2:5-5 3:5-5<1 ");
}

TEST_F(Replay, AClockThatRunsBackwardsIsCountedAndNestsAllTheSame) {
  Window window;
  enter(1, 10);
  test_time -= 6;
  enter(2, 0);
  exit(2, 3);
  exit(1, 20);
  const Profile profile = replay(window.end());
  EXPECT_EQ(text_of(profile), "1:10-27 2:10-10<0 ");
  EXPECT_EQ(profile.quality.backwards, 1u);
}

TEST_F(Replay, I25_StartFramesAreAroundWhatFollows) {
  Window window;
  window.add_start_stack(open_here({11, 12}));
  exit(12, 4);
  enter(13);
  exit(13);
  const Profile profile = replay(window.end());
  EXPECT_EQ(text_of(profile), "11:0-6 12:0-4<0 13:5-6<0 ");
  EXPECT_TRUE(profile.tracks[0].spans[0].has(SpanFlag::Before));
}

TEST_F(Replay, StartFramesThatEndedUntoldAreNotAroundWhatFollows) {
  Window window;
  StartStack stack = open_here({11, 12, 13});
  stack.lost_ends = 2;
  window.add_start_stack(stack);
  enter(14, 4);
  exit(14);
  exit(11);
  const Profile profile = replay(window.end());
  EXPECT_EQ(text_of(profile), "11:0-6 12:0-0<0 13:0-0<1 14:4-5<0 ");
  EXPECT_TRUE(profile.tracks[0].spans[2].has(SpanFlag::Clamped));
  EXPECT_EQ(profile.quality.clamped, 2U);
}

TEST_F(Replay, ACallThatIsToldOfAfterwardsIsTheOneThatIsOpen) {
  for (const bool is_told : {true, false}) {
    Window window;
    window.add_start_stack(open_here({11, 12}));
    if (is_told) Stream::current()->append(event_of(MarkKind::KnownCall), 12);
    enter(12);
    enter(12);  // it calls itself
    exit(12);
    exit(12);
    const Profile profile = replay(window.end());
    EXPECT_EQ(profile.tracks[0].spans.size(), is_told ? 3U : 4U);
    EXPECT_TRUE(profile.tracks[0].marks.empty());
    expect_nested(profile);
  }
}

TEST_F(Replay, I26_StartFramesOfAThreadWithoutEventsHaveATrackWithAThreadId) {
  Window window;
  StartStack stack;
  stack.handle = 4711;
  stack.native_id = 815;
  stack.keys = {11};
  stack.kinds = {SpanKind::Python};
  window.add_start_stack(stack);
  test_time += 10;
  const Profile profile = replay(window.end());
  ASSERT_EQ(profile.tracks.size(), 1u);
  EXPECT_EQ(profile.tracks[0].native_id, 815);
  EXPECT_EQ(text_of(profile), "11:0-10 ");
}

TEST_F(Replay, WindowsAreIndependentOfEachOther) {
  enter(1);
  Window outer;
  enter(2);
  Capture inner_capture;
  {
    Window inner;
    enter(3);
    inner_capture = inner.end();
  }
  exit(3);
  exit(2);
  const Profile all = replay(outer.end());
  EXPECT_EQ(all.tracks[0].spans.size(), 2u);
  EXPECT_EQ(all.tracks[0].spans[0].key, 2u);
  const Profile part = replay(inner_capture);
  ASSERT_EQ(part.tracks[0].spans.size(), 1u);
  EXPECT_EQ(part.tracks[0].spans[0].key, 3u);
}

TEST_F(Replay, WhatWasCapturedIsNotOverwrittenByWhatComesLater) {
  Window window;
  for (std::uint32_t n = 1; n <= 1000; ++n) enter(n);
  Capture capture = window.end();
  for (int n = 0; n < 20'000; ++n) enter(999'999);
  const Profile profile = replay(capture);
  ASSERT_EQ(profile.tracks[0].spans.size(), 1000u);
  for (std::uint32_t n = 0; n < 1000; ++n) ASSERT_EQ(profile.tracks[0].spans[n].key, n + 1);
}

TEST_F(Replay, EventsOutliveTheirThread) {
  Window window;
  std::thread([] {
    enter(1);
    exit(1);
  }).join();
  const Profile profile = replay(window.end());
  ASSERT_EQ(profile.tracks.size(), 1u);
  EXPECT_EQ(profile.tracks[0].spans.size(), 1u);
  EXPECT_NE(profile.tracks[0].native_id, 0);
}

TEST_F(Replay, PayloadsStayWithTheirEvents) {
  Window window;
  std::vector<Payload> words;
  for (std::uint64_t n = 0; n < 9; ++n) words.push_back({n, n * n});
  for (std::uint32_t n = 0; n < 3000; ++n) {
    Stream::current()->append(enter_of(SpanKind::Operator), n, 0, words.data(), words.size());
    Stream::current()->append(exit_of(SpanKind::Operator), n);
  }
  const Profile profile = replay(window.end());
  ASSERT_EQ(profile.tracks[0].spans.size(), 3000u);
  for (const Span& span : profile.tracks[0].spans) {
    ASSERT_NE(span.payload, kNoSpan);
    const Payload* const found = &profile.tracks[0].words[span.payload];
    ASSERT_EQ(found[0].first, 9u);
    ASSERT_EQ(found[9].second, 64u);
  }
}

// The model: what one thread's events mean, written without any care for speed.
struct Model {
  struct Open {
    std::uint32_t key;
    SpanKind kind;
  };
  std::vector<Open> open;
  std::uint64_t spans = 0, dropped = 0, clamped = 0;

  void enter(SpanKind kind, std::uint32_t key) {
    open.push_back({key, kind});
    ++spans;
  }
  void exit(SpanKind kind, std::uint32_t key) {
    const auto found = std::find_if(open.rbegin(), open.rend(),
                                    [&](auto& at) { return at.key == key && at.kind == kind; });
    if (found == open.rend()) {
      ++dropped;
      return;
    }
    clamped += std::uint64_t(found - open.rbegin());
    open.erase(found.base() - 1, open.end());
  }
};

TEST_F(Replay, X16_AnyEventsNestAndAreCountedAsTheModelCounts) {
  std::mt19937 random(17);
  for (int round = 0; round < 300; ++round) {
    Window window;
    Model model;
    const int length = int(random() % 200);
    for (int n = 0; n < length; ++n) {
      const auto key = std::uint32_t(random() % 5 == 0 ? random() : 1 + random() % 6);
      const auto kind = SpanKind(random() % 3);
      test_time += random() % 3;
      if (random() % 2 == 0) {
        append_event(enter_of(kind), key);
        model.enter(kind, key);
      } else {
        append_event(exit_of(kind), key);
        model.exit(kind, key);
      }
    }
    const Profile profile = replay(window.end());
    expect_nested(profile);
    EXPECT_EQ(profile.span_count(), model.spans);
    EXPECT_EQ(profile.quality.dropped_exits, model.dropped);
    EXPECT_EQ(profile.quality.clamped, model.clamped);
    EXPECT_EQ(profile.quality.open_after, model.open.size());
    EXPECT_EQ(profile.quality.events, std::uint64_t(length));
  }
}

TEST_F(Replay, EventsOfNoKindAreCountedAndSkipped) {
  Window window;
  enter(1);
  append_event(EventKind(200), 5);
  exit(1);
  const Profile profile = replay(window.end());
  EXPECT_EQ(profile.quality.broken, 1u);
  EXPECT_EQ(profile.tracks[0].spans.size(), 1u);
}

TEST_F(Replay, AnEventWhoseWordsWereCutOffIsCountedAndSkipped) {
  Window window;
  const Payload word{1, 2};
  enter(1);
  Stream::current()->append(enter_of(SpanKind::Operator), 2, 0, &word, 1);
  Capture capture = window.end();
  --capture.streams.at(0).slices.back().end;
  const Profile profile = replay(capture);
  EXPECT_EQ(profile.quality.broken, 1u);
  ASSERT_EQ(profile.tracks.size(), 1u);
  EXPECT_EQ(profile.tracks[0].spans.size(), 1u);
}

TEST_F(Replay, I25_StartFramesAreOnOneTrackThoughAThreadHasTwoStreams) {
  Window window;
  window.add_start_stack(open_here({11}));
  enter(13);
  exit(13);
  Capture capture = window.end();
  StreamCapture second;
  second.native_id = capture.streams.at(0).native_id;
  second.handle = capture.streams.at(0).handle;
  capture.streams.push_back(second);
  const Profile profile = replay(capture);
  ASSERT_EQ(profile.tracks.size(), 1u);
  EXPECT_EQ(profile.tracks[0].spans.size(), 2u);
}

// Runs each piece on a thread of its own that lives on until all have run, one after the other.
void on_threads(const std::vector<std::function<void()>>& pieces) {
  std::atomic<std::size_t> turn{0};
  std::vector<std::thread> threads;
  for (std::size_t n = 0; n < pieces.size(); ++n) {
    threads.emplace_back([&, n] {
      while (turn.load() != n) std::this_thread::yield();
      pieces[n]();
      ++turn;
      while (turn.load() != pieces.size()) std::this_thread::yield();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Replay, I27_AnExitClosesNothingOfAnotherThread) {
  Window window;
  enter(1);
  on_threads({[] {
                enter(1);
                enter(2);
              },
              [] { exit(1, 5); }});
  exit(1, 10);
  const Profile profile = replay(window.end());
  ASSERT_EQ(profile.tracks.size(), 3u);
  EXPECT_EQ(text_of(profile), "1:1-18 ");
  EXPECT_EQ(profile.tracks[1].spans.size(), 2u);
  EXPECT_TRUE(profile.tracks[1].spans[0].has(SpanFlag::After));
  EXPECT_TRUE(profile.tracks[2].spans.empty());
  EXPECT_EQ(profile.quality.dropped_exits, 1u);
  EXPECT_EQ(profile.quality.open_after, 2u);
  expect_nested(profile);
}

TEST_F(Replay, I31_OneKeyOnManyThreadsIsOneThing) {
  Name name;
  name.text = "on every thread";
  const std::uint32_t key = add_name(name);
  const auto piece = [key] {
    enter(key);
    exit(key);
  };
  Window window;
  on_threads({piece, piece, piece});
  const Profile profile = replay(window.end());
  ASSERT_EQ(profile.tracks.size(), 3u);
  for (const Track& track : profile.tracks) {
    ASSERT_EQ(track.spans.size(), 1u);
    EXPECT_EQ(track.spans[0].key, key);
  }
  const std::vector<AverageRow> rows = average(profile, {});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].count, 3u);
}

TEST_F(Replay, I32_CallsAreNumberedByTheirStartsAndInstancesByClass) {
  const auto instance = [](const char* type, std::uint64_t identity) {
    Name name;
    name.text = std::string("nn.Module: ") + type;
    name.qualified = type;
    name.kind = "instance";
    name.identity = identity;
    return add_name(name);
  };
  const std::uint32_t linear = instance("Linear", 901);
  const std::uint32_t other_linear = instance("Linear", 902);
  const std::uint32_t relu = instance("ReLU", 903);
  const auto call = [](std::uint32_t shown) {
    const Payload word{shown, 0};
    ++test_time;
    Stream::current()->append(enter_of(SpanKind::Module), 1, 0, &word, 1);
    ++test_time;
    append_event(exit_of(SpanKind::Module), 1);
  };
  Window window;
  on_threads({[&] { call(other_linear); },
              [&] {
                call(relu);
                call(linear);
                call(other_linear);
              }});
  const Profile profile = replay(window.end());
  ASSERT_EQ(profile.tracks.size(), 2u);
  Labels labels(profile, {});
  EXPECT_EQ(labels.label(other_linear), "nn.Module: Linear_0");
  EXPECT_EQ(labels.label(relu), "nn.Module: ReLU_0");
  EXPECT_EQ(labels.label(linear), "nn.Module: Linear_1");
  const auto numbers = number_calls(profile);
  EXPECT_EQ(numbers[0], std::vector<std::uint32_t>({1}));
  EXPECT_EQ(numbers[1], std::vector<std::uint32_t>({2, 3, 4}));
}

TEST_F(Replay, K3_AFutureIsASpanOfATrackOfItsOwn) {
  Window window;
  Name name;
  name.text = "a future";
  const std::uint32_t key = add_name(name);
  test_time += 10;
  const std::uint64_t first = begin_future(key);
  test_time += 10;
  begin_future(key);  // pending at the same time, and never completed
  const Payload word{first, 0};
  on_threads({[&] {
    test_time += 5;
    Stream::current()->append(event_of(MarkKind::FutureCompleted), key, 0, &word, 1);
  }});
  test_time += 10;
  const Profile profile = replay(window.end());
  std::vector<std::string> spans;
  for (const Track& track : profile.tracks) {
    EXPECT_TRUE(track.marks.empty());
    if (!track.is_derived) continue;
    for (const Span& span : track.spans) {
      spans.push_back(std::to_string(span.start) + "-" + std::to_string(span.end));
    }
  }
  EXPECT_EQ(spans, std::vector<std::string>({"10-25", "20-35"}));
  expect_nested(profile);
}

}  // namespace
}  // namespace opyard::profiler::test_profiler_replay
