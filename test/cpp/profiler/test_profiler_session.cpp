// test/cpp/profiler/test_profiler_session.cpp: sessions, whom they tell, and the names and the clock of their events.
// Suspect profiler/src/capture/: session.cpp, names.cpp, clock.cpp.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "opyard/base/warning.h"
#include "opyard/profiler/capture.h"
#include "opyard/profiler/names.h"
#include "opyard/profiler/session.h"

namespace opyard::profiler::test_profiler_session {
namespace {

// What a source was told, in order.
std::string told;
constexpr Source kFirst{"first of the test", [](const SessionOptions&) { return true; },
                        [](Window&, const SessionOptions&) { told += "start 1, "; },
                        [](SourceReport& report) {
                          told += "stop 1, ";
                          report.notes.emplace_back("a note", 7);
                        }};
constexpr Source kSecond{"second of the test",
                         [](const SessionOptions& options) { return options.memory; },
                         [](Window&, const SessionOptions&) { told += "start 2, "; },
                         [](SourceReport&) { told += "stop 2, "; }};

TEST(Session, I1_SourcesJoinByRegistrationAndServeEachSession) {
  register_source(&kFirst);
  register_source(&kSecond);
  register_source(&kFirst);
  SessionOptions options;
  options.python = true;  // no tracer has joined in this program
  options.memory = true;
  told.clear();
  Session session(options);
  EXPECT_TRUE(Session::is_active());
  const Capture capture = session.end();
  EXPECT_FALSE(Session::is_active());
  EXPECT_EQ(told, "start 1, start 2, stop 2, stop 1, ");
  ASSERT_EQ(capture.notes.size(), 1u);
  EXPECT_EQ(capture.notes[0].second, 7u);
  options.memory = false;
  told.clear();
  Session(options).end();
  EXPECT_EQ(told, "start 1, stop 1, ");
}

TEST(Session, I5_ASessionThatIsForgottenStopsAndWarns) {
  static std::string warned;
  const LateWarningHandler former =
      set_late_warning_handler([](const std::string& message) noexcept { warned += message; });
  told.clear();
  {
    Session session({});
  }
  set_late_warning_handler(former);
  EXPECT_TRUE(warned.starts_with("`PythonTracer::stop()` was not called.")) << warned;
  EXPECT_EQ(told, "start 1, stop 1, ");
  EXPECT_FALSE(Session::is_active());
}

TEST(Names, I17_TextIsMadeValidUtf8) {
  EXPECT_EQ(to_valid_utf8("\xC3\xA9t\xC3\xA9"), "\xC3\xA9t\xC3\xA9");
  EXPECT_EQ(to_valid_utf8("\xFF"
                          "a\xC3"),
            "\xEF\xBF\xBD"
            "a\xEF\xBF\xBD");
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD") << "half a pair";
  EXPECT_EQ(to_valid_utf8("\xF0\x9F\x8E\x88"), "\xF0\x9F\x8E\x88");
  EXPECT_EQ(to_valid_utf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "an overlong form";
}

TEST(Names, I13_ANameHasOneKeyForEver) {
  Name name;
  name.text = "names_of_the_test";
  name.kind = "test";
  const std::uint32_t key = add_name(name);
  EXPECT_EQ(add_name(name), key);
  name.line = 2;
  EXPECT_GT(add_name(name), key);
  EXPECT_EQ(name_of(key).text, "names_of_the_test");
  EXPECT_EQ(name_of(~0u).text, "(unknown)");
}

TEST(Clock, I54_TicksBecomeTheSystemsNanoseconds) {
  const ClockPair first = read_clock_pair();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const ClockPair middle = read_clock_pair();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const ClockPair last = read_clock_pair();
  const TickConverter converter(first, last);
  EXPECT_EQ(converter.monotonic_ns(first.ticks), std::int64_t(first.monotonic_ns));
  const std::int64_t error =
      converter.monotonic_ns(middle.ticks) - std::int64_t(middle.monotonic_ns);
  EXPECT_LT(std::abs(error), 100'000) << "20 ms are not right to 0.5 %";
}

}  // namespace
}  // namespace opyard::profiler::test_profiler_session
