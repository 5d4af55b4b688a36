// test/cpp/profiler/test_profiler_report.cpp: a profile as one HTML page, written by a program without Python.
// Suspect profiler/src/exports/report.cpp.
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "opyard/profiler/names.h"
#include "opyard/profiler/report.h"

namespace opyard::profiler::test_profiler_report {
namespace {

Profile two_spans() {
  Name name;
  name.text = "outer </script>";
  name.kind = "test";
  const std::uint32_t key = add_name(name);
  Track track;
  track.name = "a thread";
  track.native_id = 5;
  track.spans = {{10, 100, key, kNoSpan, kNoSpan, SpanKind::Annotation, 0, 0},
                 {20, 30, key, 0, kNoSpan, SpanKind::Annotation, 4, 0}};
  Profile profile;
  profile.tracks.push_back(track);
  profile.duration = 100;
  return profile;
}

std::string report_of(const Profile& profile, const ReportOptions& report) {
  std::string page;
  write_report(profile, {}, report, [&](std::string_view piece) { page += piece; });
  return page;
}

std::string data_of(const std::string& page) {
  const std::string before = "<script id=\"data\" type=\"text/plain\">";
  const std::size_t begin = page.find(before) + before.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

TEST(Report, DataIsPlainWithoutDeflate) {
  const std::string page = report_of(two_spans(), {});
  EXPECT_EQ(page.find("<!doctype html>"), 0U);
  EXPECT_EQ(page.find("@DATA@"), std::string::npos);
  EXPECT_EQ(page.find("outer </script>"), std::string::npos);
  const std::string data = data_of(page);
  EXPECT_EQ(data.substr(0, 6 + 5), "plain,T1BSM");  // "OPR1" begins so in base64
  EXPECT_EQ((data.size() - 6) % 4, 0U);
}

TEST(Report, DataIsWhatDeflateGives) {
  ReportOptions report;
  std::string given;
  report.deflate = [&](std::string_view contents) {
    given = contents;
    return std::string("abc");
  };
  EXPECT_EQ(data_of(report_of(two_spans(), report)), "deflate-raw,YWJj");
  EXPECT_EQ(given.substr(0, 4), "OPR1");
  // Starts 10 and 20 - 10, durations, levels that end, names, and the second one was cut.
  const std::string columns{"\x0a\x0a\x5a\x0a\x00\x00\x01\x01\x02\x04", 10};
  EXPECT_EQ(given.substr(given.size() - columns.size()), columns);
}

Mark mark_at(std::int64_t time, std::uint32_t key) {
  return {time, key, kNoSpan, kNoSpan, MarkKind::Function, 0};
}

// The times of the marks with that name in the page of a profile, and the number that is left out.
struct MarksOfPage {
  std::vector<std::int64_t> times;
  std::int64_t left_out = 0;
};
MarksOfPage marks_of_page(const Profile& profile, const std::string& name) {
  ReportOptions report;
  std::string contents;
  report.deflate = [&](std::string_view given) { return contents = std::string(given); };
  report_of(profile, report);
  MarksOfPage found;
  const std::string end = ",\"" + name + "\"]";
  for (std::size_t at = contents.find(end); at != std::string::npos;
       at = contents.find(end, at + 1)) {
    found.times.push_back(std::stoll(contents.substr(contents.rfind('[', at) + 1)));
  }
  const std::string label = "\"marksLeftOut\": ";
  found.left_out = std::stoll(contents.substr(contents.find(label) + label.size()));
  return found;
}

TEST(Report, MarksThatAreFrequentAreThinnedOutOverTheWholeTime) {
  Name name;
  name.kind = "test";
  name.text = "frequent";
  const std::uint32_t frequent = add_name(name);
  name.text = "rare";
  const std::uint32_t rare = add_name(name);
  constexpr std::int64_t kMarks = 1'000'000;
  Profile profile = two_spans();
  profile.duration = kMarks;
  Track& track = profile.tracks[0];
  for (std::int64_t time = 0; time < kMarks; ++time) {
    track.marks.push_back(mark_at(time, frequent));
    if (time % 100'000 == 77'777) track.marks.push_back(mark_at(time, rare));
  }
  const MarksOfPage shown = marks_of_page(profile, "frequent");
  EXPECT_EQ(shown.times.size(), 20'000U - 10U);
  for (std::size_t n = 1; n < shown.times.size(); ++n) {
    EXPECT_LE(shown.times[n] - shown.times[n - 1], 2 * kMarks / 19'990) << "at " << n;
  }
  EXPECT_GE(shown.times.back(), kMarks - 2 * kMarks / 19'990);
  EXPECT_EQ(shown.left_out, kMarks - 19'990);
  EXPECT_EQ(marks_of_page(profile, "rare").times.size(), 10U);
}

TEST(Report, AsManyMarksAsThereIsRoomForAreAllShown) {
  Name name;
  name.kind = "test";
  name.text = "frequent";
  const std::uint32_t key = add_name(name);
  Profile profile = two_spans();
  profile.tracks.push_back(profile.tracks[0]);
  for (int n = 0; n < 10'000; ++n) {
    for (Track& track : profile.tracks) track.marks.push_back(mark_at(5, key));
  }
  const MarksOfPage shown = marks_of_page(profile, "frequent");
  EXPECT_EQ(shown.times.size(), 20'000U);
  EXPECT_EQ(shown.left_out, 0);
}

TEST(Report, MoreKindsOfMarksThanThereIsRoomFor) {
  Name name;
  name.kind = "test";
  Profile profile = two_spans();
  for (int n = 0; n < 20'002; ++n) {
    name.text = "mark " + std::to_string(n);
    profile.tracks[0].marks.push_back(mark_at(n, add_name(name)));
  }
  EXPECT_EQ(marks_of_page(profile, "mark 0").left_out, 2);
}

TEST(Report, WhatDeflateThrowsComesOut) {
  ReportOptions report;
  report.deflate = [](std::string_view) -> std::string { throw std::runtime_error("no room"); };
  EXPECT_THROW(report_of(two_spans(), report), std::runtime_error);
}

TEST(Report, ATraceOfNothing) {
  EXPECT_NE(report_of(Profile(), {}).find("plain,T1BSM"), std::string::npos);
}

}  // namespace
}  // namespace opyard::profiler::test_profiler_report
