// test_warning.cpp: protects warnings: their handlers, and their number.
// Suspect dispatcher/src/base/warning.cpp.
#include "opyard/base/warning.h"

#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <vector>

#include "../thrown_by.h"
#include "opyard/base/backtrace.h"
#include "opyard/base/error.h"
#include "opyard/interpreter/error_class.h"

namespace opyard::test_warning {
namespace {

// Keeps warnings while it lives.
class Heard {
 public:
  Heard() : former_(set_warning_handler(&keep)) { said.clear(); }
  ~Heard() { set_warning_handler(former_); }
  static inline std::vector<std::string> said;

 private:
  static void keep(const Warning& warning) {
    said.push_back(std::string(name_of(warning.kind)) + (warning.at_once ? " at once" : "") + ": " +
                   warning.message);
  }
  const WarningHandler former_;
};

TEST(Warning, J7_EachKindHasItsName) {
  const char* const names[] = {
#define OPYARD_WARNING_KIND(kind, python, meaning) #kind,
#include "opyard/base/warning_kinds.def"
#undef OPYARD_WARNING_KIND
  };
  for (std::size_t i = 0; i < std::size(names); ++i) {
    EXPECT_STREQ(name_of(WarningKind(i)), names[i]);
  }
  EXPECT_EQ(int(WarningKind::Resource), 4) << "numbers are frozen: append only";
}

TEST(Warning, J7_AHandlerHearsKindTextAndWhetherItIsAtOnce) {
  const Heard heard;
  warn("plain");
  warn(WarningKind::Deprecated, "old");
  warn_at_once(WarningKind::Runtime, "now");
  EXPECT_EQ(Heard::said,
            (std::vector<std::string>{"User: plain", "Deprecated: old", "Runtime at once: now"}));
}

TEST(Warning, J7_TheMacroAddsThePlaceAndOnceIsOnceForEachPlace) {
  const Heard heard;
  const int line = __LINE__ + 1;
  OPYARD_WARN(Future, "soon");
  EXPECT_EQ(Heard::said.at(0),
            "Future: soon (" + std::string(__FILE__) + ":" + std::to_string(line) + ")");
  Heard::said.clear();
  int built = 0;
  const auto text = [&] { return "text " + std::to_string(++built); };
  const auto here = [&] { OPYARD_WARN_ONCE(User, text()); };
  const auto there = [&] { OPYARD_WARN_ONCE(User, text()); };
  for (int i = 0; i < 3; ++i) {
    here();
    there();
  }
  EXPECT_EQ(built, 2) << "the text is made where it is said only";
  EXPECT_FALSE(set_warn_always(true));
  here();
  EXPECT_TRUE(set_warn_always(false));
  here();
  EXPECT_EQ(Heard::said.size(), 3u);
}

TEST(ErrorClass, J15_AnErrorKeepsItsNameThroughCopiesAndContext) {
  const auto fails = [] { fail_as("demo.QuotaError", "no room"); };
  EXPECT_THROWN(fails(), Foreign, "demo.QuotaError: no room");
  try {
    fails();
  } catch (const Error& error) {
    const Error more = error.with_context("in demo::add");
    EXPECT_EQ(class_name_of(more), "demo.QuotaError");
    EXPECT_STREQ(more.what(), "demo.QuotaError: no room\nin demo::add");
  }
  EXPECT_EQ(class_name_of(Error(ErrorKind::BadValue, "plain")), "");
}

TEST(ErrorClass, J15_OnlyTheNameInFrontIsLeftOutOfTheText) {
  static std::string raised;
  const auto former =
      NamedError::set_raise([](const std::string& name, std::string_view text) noexcept {
        raised = name + "|" + std::string(text);
        return true;
      });
  const auto error = make_counted<NamedError>("Quota");
  for (const auto& [text, wanted] : {std::pair{"Quota: none left", "Quota|none left"},
                                     {"Quotas are gone", "Quota|Quotas are gone"},
                                     {"Quota", "Quota|Quota"},
                                     {"in f: Quota: none", "Quota|in f: Quota: none"}}) {
    EXPECT_TRUE(error->raise_with_lock_held(text));
    EXPECT_EQ(raised, wanted);
  }
  NamedError::set_raise(former);
}

TEST(Backtrace, J3_J8_StandsBelowTheTextOnRequestAndContextAboveIt) {
  EXPECT_FALSE(show_backtraces(true));
  const Error error(ErrorKind::BadShape, "sizes do not fit");
  const Error more = error.with_context("in demo::add");
  EXPECT_TRUE(show_backtraces(false));
  const std::string heading = "\nC++ backtrace, innermost function first:\n  #0 ";
  EXPECT_TRUE(std::string(error.what()).starts_with("sizes do not fit" + heading)) << error.what();
  EXPECT_TRUE(std::string(more.what()).starts_with("sizes do not fit\nin demo::add" + heading));
  EXPECT_EQ(std::string(more.what()).rfind(heading), std::string(more.what()).find(heading));
  EXPECT_EQ(without_backtrace(more.what()), "sizes do not fit\nin demo::add");
  EXPECT_STREQ(Error(ErrorKind::BadShape, "plain").what(), "plain");
}

}  // namespace
}  // namespace opyard::test_warning
