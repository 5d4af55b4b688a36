// test_schema_errors.cpp: protects the person who made a mistake in a schema.
// Suspect dispatcher/src/schema/parse.cpp and unknown_type.cpp.
#include <gtest/gtest.h>

#include <span>
#include <string>

#include "../thrown_by.h"
#include "opyard/schema/parse.h"
#include "schema_error.h"

namespace opyard::test_schema_errors {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

struct Row {
  const char* text;
  const char* message;
};

void expect_rows(std::span<const Row> rows) {
  for (const auto& [text, message] : rows) {
    SCOPED_TRACE(text);
    EXPECT_EQ(first_line(error_of(text)), message);
  }
}

TEST(SchemaErrors, C18_AMessageHasAPlaceTheSourceLineAndACaret) {
  EXPECT_EQ(error_of("demo::f(Tensor x"),
            "1:17: expected ',' or ')' but found the end\n"
            "demo::f(Tensor x\n"
            "                ^");
  EXPECT_EQ(error_of("f(Tensor x,\n  Tensor y z) -> ()\n"),
            "2:12: expected ',' or ')' but found 'z'\n"
            "  Tensor y z) -> ()\n"
            "           ^");
  EXPECT_EQ(error_of("f(str x=\"é\ta\", é) -> ()"),
            "1:16: unexpected 'é'\n"
            "f(str x=\"é a\", é) -> ()\n"
            "               ^")
      << "columns count characters, a tab is shown as one blank";
  EXPECT_EQ(error_of(""), "1:1: expected an operator name but found the end\n\n^");
}

TEST(SchemaErrors, C18_EachMistakeIsNamed) {
  constexpr Row kRows[] = {
      {"(int x) -> ()", "1:1: expected an operator name but found '('"},
      {"f", "1:2: expected '(' but found the end"},
      {"f()", "1:4: expected '->' and the results, or '-> ()' for none, but found the end"},
      {"f() - > ()", "1:5: expected '->' and the results, or '-> ()' for none, but found '-'"},
      {"f() -> (", "1:9: expected a type but found the end"},
      {"f() -> () x", "1:11: expected the end but found 'x'"},
      {"f() -> int.x",
       "1:8: unknown type 'int.x'; common types are Tensor, int, float, bool, "
       "str, Scalar, SymInt, Device, ScalarType, and T[] or T? of them; opyard/schema/types.def "
       "lists all"},
      {"f() -> int=1", "1:11: a result has no default value"},
      {"f(int) -> ()", "1:6: expected an argument name but found ')'"},
      {"f(int x y) -> ()", "1:9: expected ',' or ')' but found 'y'"},
      {"f(int x=) -> ()", "1:9: expected a default value but found ')'"},
      {"f(int x=$) -> ()", "1:9: unexpected '$'"},
      {"f(int x=1x) -> ()", "1:9: '1x' is neither a number nor a name"},
      {"f(int x=[1) -> ()", "1:11: expected ',' or ']' but found ')'"},
      {"f(str x=\"a) -> ()", "1:9: this text has no closing '\"'"},
      {"f(str x=\"\\q\") -> ()",
       "1:10: unknown escape; known are \\\\ \\\" \\' \\? \\a \\b \\f \\n \\r \\t \\v, \\x with "
       "two "
       "digits from 00 to 7f and \\ with octal digits up to 177"},
      {"f(Tensor(1) x) -> ()", "1:10: expected the name of an alias set but found '1'"},
      {"f(Tensor(a|a) x) -> ()", "1:12: alias set 'a' is written twice"},
      {"f(int?? x) -> ()", "1:7: '?' is written twice"},
      {"f(int[0] x) -> ()", "1:7: '0' is no size of a list; it is between 1 and 2147483647"},
      {"f(Dict(int) x) -> ()", "1:3: 'Dict' has 2 element types but 1 was given"},
      {"f(Future(int, int) x) -> ()", "1:3: 'Future' has 1 element type but 2 were given"},
      {"f(Union(int, int) x) -> ()", "1:3: a 'Union' has two or more different types"},
      {"f(Union(Tensor(a), int) x) -> ()",
       "1:3: alias sets inside a 'Union' are not supported; write one behind it"},
      {"f(int x=9223372036854775808) -> ()",
       "1:9: 9223372036854775808 does not fit into an int of 64 bits"},
      {"f(float x=-1e999) -> ()", "1:11: -1e999 does not fit into a float of 64 bits"},
      {"f(complex x=1+2) -> ()", "1:14: expected ',' or ')' but found '+'"},
      {"f(complex x=1-2e999j) -> ()", "1:13: -2e999 does not fit into a float of 64 bits"},
      {"f(complex x=True) -> ()",
       "1:13: default value True does not fit type 'complex'; write a number such as 2j, 1.0-2j or "
       "1.0"},
      {"f(int[256] x=1) -> ()",
       "1:14: one default value is not repeated 256 times; the limit is 255"},
  };
  expect_rows(kRows);
}

TEST(SchemaErrors, C15_ADefaultThatDoesNotFitItsTypeIsRefusedWithACaret) {
  EXPECT_EQ(error_of("f(Tensor x, int n=1.5) -> ()"),
            "1:19: default value 1.5 does not fit type 'int'; write a whole number such as 1\n"
            "f(Tensor x, int n=1.5) -> ()\n"
            "                  ^~~");
  constexpr Row kRows[] = {
      {"f(int x=None) -> ()",
       "1:9: default value None does not fit type 'int'; write a whole number such as 1"},
      {"f(Tensor x=None) -> ()",
       "1:12: default value None does not fit type 'Tensor'; write none, or make the type "
       "optional with '?' and write None"},
      {"f(Tensor? x=1) -> ()", "1:13: default value 1 does not fit type 'Tensor?'; write None"},
      {"f(float? x=\"a\") -> ()",
       "1:12: default value \"a\" does not fit type 'float?'; write None, or a number such as "
       "1.0, inf or nan"},
      {"f(bool x=1) -> ()", "1:10: default value 1 does not fit type 'bool'; write True or False"},
      {"f(float x=True) -> ()",
       "1:11: default value True does not fit type 'float'; write a number such as 1.0, inf or "
       "nan"},
      {"f(str x=a) -> ()",
       "1:9: default value a does not fit type 'str'; write a text in double quotes"},
      {"f(int x=- [1]) -> ()", "1:11: expected a default value but found '['"},
      {"f(int x=[1]) -> ()",
       "1:9: default value [1] does not fit type 'int'; write a whole number such as 1"},
      {"f(int[2] x=[1, \"a\"]) -> ()",
       "1:16: default value \"a\" does not fit type 'int'; write a whole number such as 1"},
      {"f(Tensor[] x=1) -> ()",
       "1:14: default value 1 does not fit type 'Tensor[]'; write an empty list, []"},
      {"f(Device x=1) -> ()",
       "1:12: default value 1 does not fit type 'Device'; write a device such as \"cpu\" or "
       "\"cuda:0\""},
      {"f(ScalarType x=strided) -> ()",
       "1:16: default value strided does not fit type 'ScalarType'; write a dtype such as float "
       "or int64, or its number"},
      {"f(Layout x=float) -> ()",
       "1:12: default value float does not fit type 'Layout'; write strided or sparse, or a "
       "number"},
      {"f(MemoryFormat x=float) -> ()",
       "1:18: default value float does not fit type 'MemoryFormat'; write contiguous_format, "
       "preserve_format or channels_last, or a number"},
      {"f((int, int) x=[1, 2]) -> ()",
       "1:16: default value [1, 2] does not fit type '(int, int)'; write none, or make the type "
       "optional with '?' and write None"},
      {"f(t x=1) -> ()",
       "1:7: default value 1 does not fit type 't'; write none, or make the type optional with "
       "'?' and write None"},
      {"f(Union(int, str) x=1.5) -> ()",
       "1:21: default value 1.5 does not fit type 'Union(int, str)'; write None, a number or a "
       "text"},
  };
  expect_rows(kRows);
}

TEST(SchemaErrors, C16_DuplicateNamesAndIdleStarsAreRefused) {
  constexpr Row kRows[] = {
      {"f(int x, Tensor x) -> ()",
       "1:17: a second argument is named 'x'; give one of the two another name"},
      {"f(int x, *, Tensor x) -> ()",
       "1:20: a second argument is named 'x'; give one of the two another name"},
      {"f() -> (int x, int x)",
       "1:20: a second result is named 'x'; give one of the two another name"},
      {"f(*, int x, *, int y) -> ()",
       "1:13: '*' is written twice; it begins the keyword-only arguments"},
      {"f(int x, *) -> ()", "1:10: '*' is the last word; an argument must follow it"},
      {"f(*) -> ()", "1:3: '*' is the last word; an argument must follow it"},
      {"f(int x, *, ...) -> ()", "1:10: '*' is the last word; an argument must follow it"},
  };
  expect_rows(kRows);
  EXPECT_NO_THROW(parse_schema("f(Tensor x) -> Tensor x")) << "a result may be named as one";
}

TEST(SchemaErrors, C17_ARequiredPositionalArgumentAfterADefaultedOneIsRefused) {
  EXPECT_EQ(first_line(error_of("f(int x=1, Tensor y) -> ()")),
            "1:19: argument 'y' has no default value, but 'x' before it has one; give it one, or "
            "move it before 'x' or behind '*'");
  EXPECT_NO_THROW(parse_schema("f(int x=1, *, Tensor y) -> ()"));
  EXPECT_NO_THROW(parse_schema("f(*, int x=1, Tensor y) -> ()"));
}

TEST(SchemaErrors, C19_TypesOfOtherLanguagesHaveAHint) {
  constexpr Row kRows[] = {
      {"f(int64_t x) -> ()", "1:3: unknown type 'int64_t'; write 'int' or 'SymInt'"},
      {"f(double x) -> ()", "1:3: unknown type 'double'; write 'float'"},
      {"f(flot x) -> ()", "1:3: unknown type 'flot'; write 'float'"},
      {"f(inte x) -> ()", "1:3: unknown type 'inte'; write 'int'"},
      {"f(string x) -> ()", "1:3: unknown type 'string'; write 'str'"},
      {"f(tensor x) -> ()", "1:3: unknown type 'tensor'; write 'Tensor'"},
      {"f(torch.Tensor x) -> ()", "1:3: unknown type 'torch.Tensor'; write 'Tensor'"},
      {"f(List(int) x) -> ()", "1:3: unknown type 'List'; write 'T[]', such as 'int[]'"},
      {"f(Optional(int) x) -> ()", "1:3: unknown type 'Optional'; write 'T?', such as 'Tensor?'"},
      {"f() -> void", "1:8: unknown type 'void'; write '()' for no result"},
      {"f(std::string x) -> ()",
       "1:3: unknown type 'std'; types of C++ have other names here, such as 'int', 'float', "
       "'str' and 'T[]'"},
      {"f(Nothing x) -> ()",
       "1:3: unknown type 'Nothing'; common types are Tensor, int, float, bool, str, Scalar, "
       "SymInt, Device, ScalarType, and T[] or T? of them; opyard/schema/types.def lists all"},
  };
  expect_rows(kRows);
}

TEST(SchemaErrors, C20_AnOperatorNameHasTheSameErrors) {
  EXPECT_EQ(parse_operator_name(" ns::foo.ov "), (OperatorName{"ns::foo", "ov"}));
  EXPECT_THROWN(parse_operator_name("a b"), BadSchema,
                "1:3: expected the end but found 'b'\na b\n  ^");
  EXPECT_THROWN(parse_operator_name("a.default"), BadSchema,
                "1:3: default is not a legal overload name\na.default\n  ^~~~~~~\n"
                "fix: remove '.default'");
  EXPECT_THROWN(parse_operator_name("a::b(int x) -> ()"), BadSchema,
                "1:5: expected the end but found '('\na::b(int x) -> ()\n    ^");
}

}  // namespace
}  // namespace opyard::test_schema_errors
