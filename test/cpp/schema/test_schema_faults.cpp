// test_schema_faults.cpp: protects the person who made several mistakes in one schema: all are
// told at once, none twice, and what is offered as a fix is one.
// Suspect dispatcher/src/schema/parse.cpp and dispatcher/src/text/faults.cpp.
#include <gtest/gtest.h>

#include <string>

#include "opyard/schema/parse.h"
#include "schema_error.h"

namespace opyard::test_schema_faults {
namespace {

// "1:3 1:9": where the mistakes of a text are.
std::string places(std::string_view text) {
  std::string out;
  for (const SchemaFault& fault : find_schema_faults(text)) {
    out +=
        (out.empty() ? "" : " ") + std::to_string(fault.line) + ":" + std::to_string(fault.column);
  }
  return out;
}

// The text with all fixes in it. They do not overlap, and the last comes first.
std::string mended(std::string text) {
  const std::vector<SchemaFault> faults = find_schema_faults(text);
  for (auto fault = faults.rbegin(); fault != faults.rend(); ++fault) {
    if (!fault->fix) return text + " (no fix for: " + fault->message + ")";
    text.replace(fault->fix->begin, fault->fix->end - fault->fix->begin, fault->fix->text);
  }
  return text;
}

TEST(SchemaFaults, X9_AllMistakesAreToldInOneError) {
  EXPECT_EQ(error_of("f(int x, Tensor x, bool y=true, Tensor(a!) z, Tensor(a) w=1) -> Tensor(b!)"),
            "1:17: a second argument is named 'x'; give one of the two another name\n"
            "f(int x, Tensor x, bool y=true, Tensor(a!) z, Tensor(a) w=1) -> Tensor(b!)\n"
            "                ^\n"
            "1:27: default value true does not fit type 'bool'; write True or False\n"
            "f(int x, Tensor x, bool y=true, Tensor(a!) z, Tensor(a) w=1) -> Tensor(b!)\n"
            "                          ^~~~\n"
            "fix: write 'True' instead of 'true'\n"
            "1:44: argument 'z' has no default value, but 'y' before it has one; give it one, or "
            "move it before 'y' or behind '*'\n"
            "f(int x, Tensor x, bool y=true, Tensor(a!) z, Tensor(a) w=1) -> Tensor(b!)\n"
            "                                           ^\n"
            "fix: write '*, Tensor(a!)' instead of 'Tensor(a!)'\n"
            "1:53: argument 'w' only reads what argument 'z' of the same alias set writes; mark "
            "both as written, or give one another set\n"
            "f(int x, Tensor x, bool y=true, Tensor(a!) z, Tensor(a) w=1) -> Tensor(b!)\n"
            "                                                    ^~~\n"
            "fix: write '(a!)' instead of '(a)'\n"
            "1:59: default value 1 does not fit type 'Tensor'; write none, or make the type "
            "optional with '?' and write None\n"
            "f(int x, Tensor x, bool y=true, Tensor(a!) z, Tensor(a) w=1) -> Tensor(b!)\n"
            "                                                          ^\n"
            "1:71: this result is marked as written, but no argument of its alias set is; mark the "
            "argument, too, or leave out the '!'\n"
            "f(int x, Tensor x, bool y=true, Tensor(a!) z, Tensor(a) w=1) -> Tensor(b!)\n"
            "                                                                      ^~~~\n"
            "fix: write '(b)' instead of '(b!)'");
}

TEST(SchemaFaults, X9_WhatEndsTheReadingIsTheLastOfThem) {
  const std::vector<SchemaFault> faults =
      find_schema_faults("f(Foo x, int y=1.5,\n  Tensor é, Bar z) -> ()");
  ASSERT_EQ(faults.size(), 3u);
  EXPECT_EQ(faults[2].line, 2u);
  EXPECT_EQ(faults[2].column, 10u);
  EXPECT_EQ(faults[2].message, "unexpected 'é'");
  EXPECT_TRUE(find_schema_faults("f(Tensor x) -> ()").empty());
}

TEST(SchemaFaults, X9_AFaultHasItsPlaceItsBytesAndItsFix) {
  const std::vector<SchemaFault> faults = find_schema_faults("f(str s=\"é\", int64_t y) -> double");
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].column, 14u);
  EXPECT_EQ(faults[0].begin, 14u) << "é has two bytes and one column";
  EXPECT_EQ(faults[0].end, 21u);
  EXPECT_EQ(faults[0].message, "unknown type 'int64_t'; write 'int' or 'SymInt'");
  ASSERT_TRUE(faults[0].fix.has_value());
  EXPECT_EQ(faults[0].fix->begin, 14u);
  EXPECT_EQ(faults[0].fix->end, 21u);
  EXPECT_EQ(faults[0].fix->text, "int");
  EXPECT_EQ(faults[1].message, "unknown type 'double'; write 'float'");
}

TEST(SchemaFaults, X9_OneMistakeIsToldOnce) {
  EXPECT_EQ(places("f(Optional[Tensor] x=None, Tensor y) -> ()"), "1:3");
  EXPECT_EQ(places("f(std::vector<int> x) -> ()"), "1:3");
  EXPECT_EQ(places("f(List(List(int)) x=[1], int y=2) -> ()"), "1:3");
  EXPECT_EQ(places("f((Foo, int) x=1, Bar[] y) -> ()"), "1:4 1:19");
  EXPECT_EQ(places("f(Foo x, Foo y) -> Foo"), "1:3 1:10 1:20");
  EXPECT_EQ(places("f(Dict(int) x=1, *, Foo) -> ()"), "1:3 1:21") << "the star is not idle";
  EXPECT_EQ(places("f(int x=1, int a, int b, int c) -> ()"), "1:16") << "mended in one place";
  EXPECT_EQ(places("f(int[3] x=[1.5, 2.5]) -> ()"), "1:13");
  EXPECT_EQ(places("f(Foo(int, int) x, Bar y) -> ()"), "1:3 1:20");
  EXPECT_EQ(places("f(Foo x"), "1:3 1:8");
  EXPECT_EQ(places("f(Foo x -> Tensor"), "1:3 1:9");
  EXPECT_EQ(places("f(Union(Foo, int) x, Union(int) y) -> ()"), "1:9 1:22");
}

TEST(SchemaFaults, X9_TheyComeInSourceOrder) {
  EXPECT_EQ(places("f.default(Tensor(a) x, Tensor(a!) y, Foo z) -> int=1"), "1:3 1:17 1:38 1:51");
}

TEST(SchemaFaults, X9_NoMoreAreToldThanWanted) {
  SchemaLimits limits;
  limits.faults = 2;
  EXPECT_EQ(find_schema_faults("f(A x, B y, C z) -> ()", limits).size(), 2u);
  const std::string error = error_of("f(A x, B y, C z) -> ()", limits);
  EXPECT_TRUE(
      error.ends_with("\nThe first 2 mistakes are shown; mend them to see whether there are more."))
      << error;
  limits.faults = 1;
  EXPECT_TRUE(error_of("f(A x, B y) -> ()", limits).ends_with("\n  ^")) << "who wants one gets one";
  limits.faults = 0;
  EXPECT_EQ(find_schema_faults("f(A x, B y, C z) -> ()", limits).size(), 1u);
  std::string many = "f(";
  for (int i = 0; i < 200; ++i) many += "A x" + std::to_string(i) + ", ";
  EXPECT_EQ(find_schema_faults(many + "int x) -> ()").size(), 20u);
}

TEST(SchemaFaults, X9_TheFixesMendTheText) {
  constexpr std::pair<const char*, const char*> kRows[] = {
      {"f(int64_t x, torch.Tensor y, Bool z) -> double", "f(int x, Tensor y, bool z) -> float"},
      {"f(Tesnor x, scalar y, memoryformat z) -> tensor",
       "f(Tensor x, Scalar y, MemoryFormat z) -> Tensor"},
      {"f(Tenso x, Tennsor y, Tenser z) -> ()", "f(Tensor x, Tensor y, Tensor z) -> ()"},
      {"f(bool a=true, bool b=0, bool c=1, bool d=FALSE) -> ()",
       "f(bool a=True, bool b=False, bool c=True, bool d=False) -> ()"},
      {"f(int a=1.0, float b=Infinity, float c=-INF, float d=NaN) -> ()",
       "f(int a=1, float b=inf, float c=-inf, float d=nan) -> ()"},
      {"f(str a=mean, str b='x\"y', str[] c=['a', b]) -> ()",
       "f(str a=\"mean\", str b='x\"y', str[] c=['a', \"b\"]) -> ()"},
      {"f(int a=None, Tensor(a!)[] b=None, int? c=null) -> ()",
       "f(int? a=None, Tensor(a!)[]? b=None, int? c=None) -> ()"},
      {"f(int x=1, Tensor y) -> ()", "f(int x=1, *, Tensor y) -> ()"},
      {"f(int x, *) -> ()", "f(int x) -> ()"},
      {"f(*) -> ()", "f() -> ()"},
      {"f(int x, *, ...) -> ()", "f(int x, ...) -> ()"},
      {"f(*, ...) -> ()", "f( ...) -> ()"},
      {"f(*, int x, *, int y) -> ()", "f(*, int x, int y) -> ()"},
      {"f(*, int x, *) -> ()", "f(*, int x) -> ()"},
      {"f(Tensor?? x, Tensor(a|b|a) y) -> int=1", "f(Tensor? x, Tensor(a|b) y) -> int"},
      {"ns::f.default(int x) -> ()", "ns::f(int x) -> ()"},
      {"f(Tensor(a!) x, Tensor(a -> b) y) -> Tensor(c! -> d)",
       "f(Tensor(a!) x, Tensor(a! -> b) y) -> Tensor(c -> d)"},
  };
  for (const auto& [text, wanted] : kRows) {
    EXPECT_EQ(mended(text), wanted);
    EXPECT_TRUE(find_schema_faults(mended(text)).empty()) << text;
  }
}

TEST(SchemaFaults, X9_AliasSetsThatContradictEachOtherAreRefused) {
  for (const char* text : {
           "f(Tensor(a!) x, Tensor(a) y) -> ()",
           "f(Tensor(a) x, Tensor(a!) y) -> ()",
           "f(Tensor(a|b) x, Tensor(b! -> c) y) -> ()",
           "f(Tensor(a)[] x, Tensor(a!)? y) -> ()",
           "f((Tensor(a!), Tensor(a)) x) -> ()",
           "f(Any(a) x, int[](a!) y) -> ()",
           "f(Tensor(a) x) -> Tensor(a!)",
           "f(Tensor x) -> (int, Tensor(a!)[])",
           "f(Tensor! x) -> Tensor(a!)",
       }) {
    EXPECT_EQ(find_schema_faults(text).size(), 1u) << text;
  }
}

TEST(SchemaFaults, X9_AliasSetsThatCanAllBeTrueAreTaken) {
  for (const char* text : {
           "f(Tensor(a!) x, Tensor(a!) y) -> Tensor(a)",
           "f(Tensor(a!) x, Tensor(b) y) -> (Tensor(a!), Tensor(b))",
           "f(Tensor(a)[](a!) x) -> ()",
           "f(Tensor(a!) x, int(a) y) -> int(a)",
           "f(Tensor(*!) x, Tensor(*) y) -> Tensor(*!)",
           "f(Tensor! x) -> Tensor!",
           "f(Tensor(a! -> b) x, Tensor(b) y) -> Tensor(b!)",
           "f(Tensor(a!)[] x) -> Tensor(a!)",
           "f(Tensor(a -> *) x, Tensor[](b!) y) -> Tensor[](b!)",
           "f(Tensor(a|b! -> c) x) -> Tensor(c! -> d)",
       }) {
    EXPECT_TRUE(find_schema_faults(text).empty()) << error_of(text);
  }
}

}  // namespace
}  // namespace opyard::test_schema_faults
