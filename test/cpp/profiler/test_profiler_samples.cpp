// test/cpp/profiler/test_profiler_samples.cpp: samples fold into a bounded tree, and become spans.
// Suspect profiler/src/profile/samples.cpp, and sample_spans.h beside it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "opyard/profiler/averages.h"
#include "opyard/profiler/call_tree.h"
#include "opyard/profiler/clock.h"
#include "opyard/profiler/names.h"
#include "opyard/profiler/samples.h"

namespace opyard::profiler::test_profiler_samples {
namespace {

constexpr std::int64_t kMs = 1'000'000;

std::uint32_t key_of(const std::string& text) {
  Name name;
  name.text = text;
  name.kind = "code";
  return add_name(std::move(name));
}

SampledFrame frame(const std::string& name, std::int32_t line = 1) {
  return {key_of(name), SpanKind::Python, line};
}

std::int64_t now() { return std::int64_t(read_clock_pair().monotonic_ns); }

// A tree that is told what it samples: one sample a millisecond from when it was made on.
class Samples {
 public:
  explicit Samples(const SampleBounds& bounds = {}) : tree(bounds, kMs), time(now()) {
    root = tree.add_thread(1, 11);
  }
  void add(const std::vector<SampledFrame>& stack, std::int64_t wall = kMs, std::int64_t cpu = 0) {
    time += wall;
    tree.add(tree.find(root, stack), stack, wall, cpu, time);
  }
  Profile finish() { return tree.finish(time + kMs); }

  SampleTree tree;
  std::uint32_t root;
  std::int64_t time;
};

AverageRow row_of(const Profile& profile, const std::string& name) {
  for (const AverageRow& row : average(profile, {})) {
    if (row.key == key_of(name)) return row;
  }
  return {};
}

std::uint64_t note_of(const Profile& profile, const std::string& text) {
  for (const auto& [note, number] : profile.quality.notes) {
    if (note == text) return number;
  }
  return 0;
}

TEST(ProfilerSamples, X40_TimesAreOfTheStackAndOfItsCallers) {
  Samples samples;
  for (int n = 0; n < 3; ++n) samples.add({frame("main"), frame("load")}, kMs, 0);
  for (int n = 0; n < 5; ++n) samples.add({frame("main"), frame("train")}, kMs, kMs);
  samples.add({frame("main")}, 2 * kMs, kMs);
  const Profile profile = samples.finish();
  ASSERT_EQ(profile.tracks.size(), 1u);
  EXPECT_EQ(profile.tracks[0].native_id, 11);
  const AverageRow main = row_of(profile, "main");
  EXPECT_EQ(main.total, 10 * kMs);
  EXPECT_EQ(main.self, 2 * kMs);
  EXPECT_EQ(main.self_thread_time, kMs);
  EXPECT_EQ(main.count, 10u) << "samples, not spans";
  EXPECT_EQ(row_of(profile, "load").self_thread_time, 0);
  EXPECT_EQ(row_of(profile, "train").self_thread_time, 5 * kMs);
}

TEST(ProfilerSamples, I53_SpansNestWithinTheirSlices) {
  SampleBounds bounds;
  bounds.first_slice_ns = 4 * kMs;
  Samples samples(bounds);
  for (int n = 0; n < 40; ++n) {
    samples.add({frame("main"), frame(n % 2 == 0 ? "even" : "odd"), frame("inner")});
  }
  const Profile profile = samples.finish();
  const Track& track = profile.tracks[0];
  std::int64_t last = 0;
  int slices = 0;
  for (const Span& span : track.spans) {
    EXPECT_GE(span.start, last) << "in the order of their starts";
    last = span.start;
    if (span.parent == kNoSpan) {
      ++slices;
      continue;
    }
    EXPECT_GE(span.start, track.spans[span.parent].start);
    EXPECT_LE(span.end, track.spans[span.parent].end);
  }
  EXPECT_GT(slices, 5);
  EXPECT_EQ(row_of(profile, "main").total, 40 * kMs);
}

TEST(ProfilerSamples, I53_SlicesAreMergedAndTimesStay) {
  SampleBounds bounds;
  bounds.first_slice_ns = kMs;
  bounds.slices = 8;
  Samples samples(bounds);
  for (int n = 0; n < 1000; ++n) samples.add({frame("main"), frame("f" + std::to_string(n % 7))});
  const Profile profile = samples.finish();
  std::size_t slices = 0;
  for (const Span& span : profile.tracks[0].spans) slices += span.parent == kNoSpan ? 1 : 0;
  EXPECT_LE(slices, 8u);
  EXPECT_GE(slices, 4u);
  EXPECT_EQ(row_of(profile, "main").total, 1000 * kMs);
  EXPECT_EQ(row_of(profile, "f3").self, 143 * kMs);
}

TEST(ProfilerSamples, I53_EntriesOfSlicesAreBounded) {
  SampleBounds bounds;
  bounds.first_slice_ns = kMs;
  bounds.entries = 50;
  Samples samples(bounds);
  for (int n = 0; n < 2000; ++n) samples.add({frame("f" + std::to_string(n % 10))});
  EXPECT_LT(samples.tree.bytes(), 200'000u);
  EXPECT_EQ(row_of(samples.finish(), "f3").self, 200 * kMs);
}

TEST(ProfilerSamples, I53_StacksBeyondTheBoundAreOneNodeThatSaysSo) {
  SampleBounds bounds;
  bounds.nodes = 20;
  Samples samples(bounds);
  for (int n = 0; n < 100; ++n) samples.add({frame("main"), frame("g" + std::to_string(n))});
  EXPECT_LE(samples.tree.nodes(), 21u);
  const Profile profile = samples.finish();
  std::int64_t beyond = 0;
  std::int64_t all = 0;
  for (const AverageRow& row : average(profile, {})) {
    all += row.self;
    if (name_of(row.key).text.starts_with("[stacks beyond")) beyond = row.self;
  }
  EXPECT_EQ(all, 100 * kMs) << "no time is lost";
  EXPECT_EQ(std::uint64_t(beyond / kMs), note_of(profile, "samples beyond the bound of stacks"));
  EXPECT_GT(beyond, 70 * kMs);
}

TEST(ProfilerSamples, I53_ThreadsBeyondTheBoundShareTheLastTrack) {
  SampleBounds bounds;
  bounds.threads = 2;
  Samples samples(bounds);
  const std::uint32_t second = samples.tree.add_thread(2, 12);
  EXPECT_EQ(samples.tree.add_thread(3, 13), second);
  const Profile profile = samples.finish();
  EXPECT_EQ(profile.tracks.size(), 2u);
  EXPECT_EQ(note_of(profile, "threads beyond the bound of threads"), 1u);
}

TEST(ProfilerSamples, X41_LinesCountARecursionOnce) {
  Samples samples;
  samples.add({frame("f", 3), frame("f", 3), frame("f", 4)}, kMs, kMs);
  samples.add({frame("f", 3), frame("g", 9)}, kMs, 0);
  const Profile profile = samples.finish();
  ASSERT_EQ(profile.sampled_lines.size(), 3u);
  for (const SampledLine& line : profile.sampled_lines) {
    if (line.line == 3) {
      EXPECT_EQ(line.total, 2 * kMs);
    }
    if (line.line == 3) {
      EXPECT_EQ(line.self, 0);
    }
    if (line.line == 4) {
      EXPECT_EQ(line.self_thread_time, kMs);
    }
    if (line.line == 9) {
      EXPECT_EQ(line.self, kMs);
    }
  }
}

TEST(ProfilerSamples, I53_LinesBeyondTheBoundAreCounted) {
  SampleBounds bounds;
  bounds.lines = 5;
  Samples samples(bounds);
  for (int n = 1; n <= 8; ++n) samples.add({frame("f", n)});
  const Profile profile = samples.finish();
  EXPECT_EQ(profile.sampled_lines.size(), 5u);
  EXPECT_EQ(note_of(profile, "lines beyond the bound of lines"), 3u);
}

TEST(ProfilerSamples, X40_NodesOfTheCallTreeCountSamplesOfTheirOwn) {
  Samples samples;
  for (int n = 0; n < 4; ++n) samples.add({frame("main"), frame("leaf")});
  samples.add({frame("main")});
  for (const CallNode& node : call_tree(samples.finish())) {
    if (node.key == key_of("main")) {
      EXPECT_EQ(node.count, 1u);
    }
    if (node.key == key_of("leaf")) {
      EXPECT_EQ(node.count, 4u);
    }
  }
}

}  // namespace
}  // namespace opyard::profiler::test_profiler_samples
