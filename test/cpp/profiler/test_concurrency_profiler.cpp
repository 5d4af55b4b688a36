// test_concurrency_profiler.cpp: a ring that is copied, and profiles that begin and end, while threads write events and
// come and go; also under the thread sanitizer.
// Suspect profiler/src/capture/ring.cpp and streams.cpp.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "../on_threads.h"
#include "../registering.h"
#include "opyard/detail/interpreter/gil_wait.h"
#include "opyard/profiler/capture.h"
#include "opyard/profiler/gil_waits.h"
#include "opyard/profiler/names.h"
#include "opyard/profiler/profile.h"
#include "opyard/profiler/ring.h"
#include "opyard/profiler/session.h"

namespace opyard::profiler::test_concurrency_profiler {
namespace {

constexpr int kRounds = rounds(200);
constexpr int kWriters = 4;

void range(std::uint32_t key, int depth) {
  append_event(enter_of(SpanKind::Annotation), key);
  if (depth > 0) range(key + 1, depth - 1);
  append_event(exit_of(SpanKind::Annotation), key);
}

void expect_nested(const Track& track) {
  std::vector<std::int64_t> last_end(track.spans.size() + 1, 0);
  for (const Span& span : track.spans) {
    ASSERT_LE(span.start, span.end);
    const std::size_t outer = span.parent == kNoSpan ? track.spans.size() : span.parent;
    ASSERT_GE(span.start, last_end[outer]);
    last_end[outer] = span.end;
    if (span.parent == kNoSpan) continue;
    ASSERT_GE(span.start, track.spans[span.parent].start);
    ASSERT_LE(span.end, track.spans[span.parent].end);
  }
}

std::size_t spans_of(const Capture& capture) {
  std::size_t spans = 0;
  for (const Track& track : replay(capture).tracks) {
    expect_nested(track);
    spans += track.spans.size();
  }
  return spans;
}

// Runs `body` while threads write events, and others that write some are started and end.
template <typename Body>
void while_threads_write(const Body& body) {
  const Registration op = define("ring::f(Tensor x) -> Tensor");
  const Registration kernel = implement("ring::f", DispatchKey::CPU, echo("cpu"));
  std::atomic<bool> is_over{false};
  std::atomic<int> writing{0};
  on_threads(kWriters + 1, [&](int thread) {
    if (thread == 0) {
      while (writing.load() < kWriters) std::this_thread::yield();
      body();
      is_over.store(true);
      return;
    }
    for (std::uint32_t key = 1; !is_over.load(); ++key) {
      range(key % 100 + 1, 8);
      if (key == 1) writing.fetch_add(1);
      EXPECT_EQ(who_ran("ring::f", {DispatchKey::CPU}), "cpu");
      if (thread == 1) std::thread([] { range(1, 3); }).join();
    }
  });
}

SessionOptions options() {
  SessionOptions made;
  made.memory = true;
  made.shapes = true;
  return made;
}

TEST(ConcurrencyProfiler, X19_ARingIsCopiedWhileThreadsWriteIt) {
  RingBounds bounds;
  bounds.bytes =
      std::uint64_t{1} << 20;  // so little that its blocks are written again all the time
  Ring ring(options(), bounds);
  while_threads_write([&] {
    std::size_t most = 0;
    for (int round = 0; round < kRounds; ++round) most = std::max(most, spans_of(ring.dump()));
    EXPECT_GT(most, 0u);
  });
}

TEST(ConcurrencyProfiler, RingsAndProfilesBeginAndEndWhileThreadsWrite) {
  while_threads_write([] {
    for (int round = 0; round < kRounds / 4; ++round) {
      RingBounds bounds;
      bounds.bytes = std::uint64_t{1} << (17 + round % 6);
      bounds.ns = round % 2 == 0 ? 0 : 1'000'000;
      Ring ring(options(), bounds);
      static_cast<void>(spans_of(ring.dump()));
      {
        Session session(options());
        static_cast<void>(spans_of(ring.dump()));
        static_cast<void>(spans_of(session.end()));
      }
      static_cast<void>(spans_of(ring.dump()));
      ring.end();
      Session session(options());
      static_cast<void>(spans_of(session.end()));
    }
  });
}

TEST(ConcurrencyProfiler, SeveralThreadsCopyARingAndOneEndsIt) {
  Ring ring(options(), RingBounds{});
  while_threads_write([&] {
    std::atomic<int> copies{0};
    on_threads(3, [&](int thread) {
      if (thread == 0) {
        while (copies.load() < 4) std::this_thread::yield();
        ring.end();
        return;
      }
      try {
        for (;;) {
          static_cast<void>(spans_of(ring.dump()));
          copies.fetch_add(1);
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadRegistration);
        copies.fetch_add(4);
      }
    });
  });
}

std::atomic<int> taken{0};
void hear_of_taken() noexcept { taken.fetch_add(1); }

std::size_t waits_of(const Capture& capture) {
  std::size_t waits = 0;
  for (const Track& track : replay(capture).tracks) {
    expect_nested(track);
    for (const Span& span : track.spans) {
      if (span.kind != SpanKind::GilWait) continue;
      EXPECT_EQ(name_of(span.key).text, "waiting for the GIL");
      ++waits;
    }
  }
  return waits;
}

// As threads of C++ do in the gate, whatever waits for an interpreter's lock there.
TEST(ConcurrencyProfiler, WaitsForAGilAreToldWhileThoseWhoListenComeAndGo) {
  std::atomic<bool> is_over{false};
  std::atomic<int> waiting{0};
  std::size_t waits = 0;
  taken.store(0);
  on_threads(kWriters + 1, [&](int thread) {
    if (thread == 0) {
      while (waiting.load() < kWriters) std::this_thread::yield();
      for (int round = 0; round < kRounds || waits == 0 || taken.load() == 0; ++round) {
        const bool before = round % 3 == 0;
        if (before) hear_of_taken_gils(&hear_of_taken);
        Session session(SessionOptions{});
        if (!before) hear_of_taken_gils(&hear_of_taken);
        std::this_thread::yield();
        if (round % 2 == 0) hear_of_taken_gils(nullptr);
        const Capture capture = session.end();
        if (waits < 10'000) waits += waits_of(capture);
        hear_of_taken_gils(nullptr);
        EXPECT_EQ(gil_wait_listener.load(), nullptr);
      }
      is_over.store(true);
      return;
    }
    waiting.fetch_add(1);
    while (!is_over.load()) {
      for (int n = 0; n < 100; ++n) {
        const GilWait outer;
        const GilWait inner;
      }
      std::this_thread::yield();
    }
  });
}

// Where a ring is cut, exits are left whose entries are gone: they make no span.
TEST(ConcurrencyProfiler, I28_AnExitWithoutItsEntryInARing) {
  RingBounds bounds;
  bounds.bytes = 1;  // the block that a thread writes to
  Ring ring(options(), bounds);
  std::thread([&ring] {
    append_event(enter_of(SpanKind::Annotation), 7);
    for (int n = 0; n < 20'000; ++n) range(1, 2);
    append_event(exit_of(SpanKind::Annotation), 7);
    range(9, 0);
    const Profile profile = replay(ring.dump());
    std::size_t sevens = 0;
    std::size_t nines = 0;
    for (const Track& track : profile.tracks) {
      expect_nested(track);
      for (const Span& span : track.spans) {
        sevens += span.key == 7 ? 1 : 0;
        nines += span.key == 9 ? 1 : 0;
        EXPECT_TRUE(span.key != 7 || span.has(SpanFlag::Before));
      }
    }
    EXPECT_LE(sevens, 1u);
    EXPECT_EQ(nines, 1u);
    EXPECT_LT(profile.quality.events, 40'000u);
  }).join();
}

}  // namespace
}  // namespace opyard::profiler::test_concurrency_profiler
