// test/cpp/test_profiler_report.cpp: a trace as one HTML page, written by a program without Python.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "opyard/profiler/names.h"
#include "opyard/profiler/report.h"

namespace opyard::profiler {
namespace {

Trace two_spans() {
  Name name;
  name.text = "outer </script>";
  name.kind = "test";
  const std::uint32_t key = add_name(name);
  Track track;
  track.name = "a thread";
  track.native_id = 5;
  track.spans = {{10, 100, key, kNoSpan, kNoSpan, SpanKind::Annotation, 0, 0},
                 {20, 30, key, 0, kNoSpan, SpanKind::Annotation, 4, 0}};
  Trace trace;
  trace.tracks.push_back(track);
  trace.duration = 100;
  return trace;
}

std::string report_of(const Trace& trace, const ReportOptions& report) {
  std::string page;
  write_report(trace, {}, report, [&](std::string_view piece) { page += piece; });
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

TEST(Report, WhatDeflateThrowsComesOut) {
  ReportOptions report;
  report.deflate = [](std::string_view) -> std::string { throw std::runtime_error("no room"); };
  EXPECT_THROW(report_of(two_spans(), report), std::runtime_error);
}

TEST(Report, ATraceOfNothing) {
  EXPECT_NE(report_of(Trace(), {}).find("plain,T1BSM"), std::string::npos);
}

}  // namespace
}  // namespace opyard::profiler
