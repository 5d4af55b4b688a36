// test_arguments.cpp: protects how the arguments of a caller in C++ meet a schema.
#include "opyard/schema/arguments.h"

#include <gtest/gtest.h>

#include "failing_allocator.h"
#include "opyard/schema/parse.h"
#include "thrown_by.h"

namespace opyard {
namespace {

const Schema& schema() {
  static const Schema parsed =
      parse_schema("t::f(int a, float b=2.5, *, str c, str[] d=[\"x\"]) -> ()");
  return parsed;
}
constexpr const char* kDeclaration = "t::f(int a, float b=2.5, *, str c, str[] d=[\"x\"]) -> ()";

// What lies on a stack that held one value before, or the stack as text.
std::string pushed(std::initializer_list<Value> positional,
                   std::initializer_list<Keyword> keywords) {
  Stack stack;
  stack.push("below");
  push_arguments(stack, schema(), positional, keywords);
  std::string text;
  for (std::size_t i = 0; i < stack.size(); ++i) text += (i == 0 ? "" : " ") + repr(stack[i]);
  return text;
}

// The text of a refusal, after which the stack is as it was.
std::string refused(std::initializer_list<Value> positional,
                    std::initializer_list<Keyword> keywords) {
  Stack stack;
  stack.push("below");
  const Thrown thrown = thrown_by([&] { push_arguments(stack, schema(), positional, keywords); });
  EXPECT_EQ(thrown.kind, ErrorKind::BadArgument);
  EXPECT_EQ(stack.size(), 1u);
  return thrown.text;
}

TEST(Arguments, D6_AreInTheOrderOfTheSchemaWithDefaultsFilledIn) {
  EXPECT_EQ(pushed({Value(1)}, {{"c", "text"}}), R"("below" 1 2.5 "text" ["x"])");
  EXPECT_EQ(pushed({Value(1), Value(.5)}, {{"d", Value::list({})}, {"c", "text"}}),
            R"("below" 1 0.5 "text" [])");
  EXPECT_EQ(pushed({}, {{"c", "text"}, {"b", .5}, {"a", 7}}), R"("below" 7 0.5 "text" ["x"])");
}

TEST(Arguments, C29f_TooManyAreRefused) {
  EXPECT_EQ(refused({Value(1), Value(.5), Value("text")}, {}),
            std::string("Expected at most 2 argument(s) for operator 't::f', but received 3 "
                        "argument(s). Declaration: ") +
                kDeclaration);
}

TEST(Arguments, C29f_AMissingOneIsNamed) {
  EXPECT_EQ(refused({Value(1)}, {}),
            std::string("t::f() is missing value for argument 'c'. Declaration: ") + kDeclaration);
  EXPECT_EQ(refused({}, {{"bogus", 1}}),
            std::string("t::f() is missing value for argument 'a'. Declaration: ") + kDeclaration)
      << "unknown names come last";
}

TEST(Arguments, C29f_AWrongTypeIsNamedWithItsPlace) {
  EXPECT_EQ(refused({Value("x")}, {{"c", "text"}}),
            std::string("t::f() Expected a value of type 'int' for argument 'a' but instead found "
                        "type 'str'.\nPosition: 0\nValue: \"x\"\nDeclaration: ") +
                kDeclaration);
  EXPECT_EQ(
      refused({Value(1)}, {{"c", "text"}, {"d", Value::list({Value(1)})}}),
      std::string("t::f() Expected a value of type 'str[]' for argument 'd' but instead found "
                  "type 'int[]'.\nPosition: 3\nValue: [1]\nDeclaration: ") +
          kDeclaration);
}

TEST(Arguments, C29f_UnknownAndDoubleNamesAreRefused) {
  EXPECT_EQ(
      refused({Value(1)}, {{"c", "text"}, {"bogus", 1}}),
      std::string("Unknown keyword argument 'bogus' for operator 't::f'. Schema: ") + kDeclaration);
  EXPECT_EQ(
      refused({Value(1)}, {{"c", "text"}, {"a", 1}}),
      std::string("Argument 'a' specified both as positional and keyword argument. Schema: ") +
          kDeclaration);
  EXPECT_EQ(refused({Value(1)}, {{"c", "text"}, {"c", "again"}}),
            std::string("Argument 'c' is given twice by name. Schema: ") + kDeclaration);
}

TEST(Arguments, D6_ASchemaOfAnyNumberIsRefused) {
  Stack stack;
  EXPECT_THROWN(push_arguments(stack, parse_schema("t::g(int a, ...) -> ()"), {Value(1)}),
                Unsupported,
                "t::g(int a, ...) -> () takes any number of arguments; push them onto the stack by "
                "hand");
}

TEST(Arguments, D6_NothingIsLeftWhenMemoryRunsOut) {
  static_cast<void>(schema());
  fail_every_allocation([&] {
    Stack stack;
    push_arguments(stack, schema(), {Value(1)}, {{"c", "text"}});
    EXPECT_EQ(stack.size(), 4u);
  });
}

}  // namespace
}  // namespace opyard
