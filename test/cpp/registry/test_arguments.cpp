// test_arguments.cpp: protects stacks that are made of arguments by position and by name.
// Suspect dispatcher/src/schema/arguments.cpp.
#include "opyard/schema/arguments.h"

#include <gtest/gtest.h>

#include <array>

#include "../registering.h"
#include "../thrown_by.h"

namespace opyard::test_arguments {
namespace {

constexpr const char* kDeclaration =
    "t::take(Tensor x, int n=2, *, float alpha=1., str mode) -> Tensor";

class Arguments : public testing::Test {
 protected:
  const Registration defined_ = define(kDeclaration);
  const Operator& take_ = registry().require("t::take");
  const Tensor x_ = tensor_with({DispatchKey::CPU});

  Thrown refused(std::vector<Value> positional, std::vector<NamedValue> named) {
    Stack stack;
    stack.push("below");
    const Thrown thrown =
        thrown_by([&] { push_arguments(take_.schema(), stack, positional, named); });
    EXPECT_EQ(thrown.kind, ErrorKind::BadArgument);
    EXPECT_EQ(stack.size(), 1u) << "nothing is left of them";
    return thrown;
  }
};

TEST_F(Arguments, D6_C29_DefaultsAreFilledAndNamesFindTheirPlace) {
  const std::array<Value, 1> positional = {Value(x_)};
  const std::array<NamedValue, 2> named = {NamedValue{"mode", Value("same")},
                                           NamedValue{"alpha", Value(0.5)}};
  Stack stack;
  stack.push("below");
  push_arguments(take_.schema(), stack, positional, named);
  ASSERT_EQ(stack.size(), 5u);
  EXPECT_EQ(stack[0], Value("below"));
  EXPECT_TRUE(stack[1].to_tensor().same(x_));
  EXPECT_EQ(stack[2].to_int(), 2);
  EXPECT_EQ(stack[3].to_double(), 0.5);
  EXPECT_EQ(stack[4].to_string_view(), "same");
}

TEST_F(Arguments, D6_C29_TheyCanBeCalledWith) {
  const Registration kernel = implement("t::take", DispatchKey::CPU,
                                        Kernel::from([](const Tensor& x, std::int64_t, double,
                                                        std::string_view) -> Tensor { return x; }));
  const std::array<NamedValue, 2> named = {NamedValue{"x", Value(x_)},
                                           NamedValue{"mode", Value("m")}};
  Stack stack;
  push_arguments(take_.schema(), stack, {}, named);
  take_.call_boxed(stack);
  EXPECT_TRUE(pop_results(take_.schema(), stack).to_tensor().same(x_));
  EXPECT_TRUE(stack.empty());
}

TEST_F(Arguments, D6_SeveralValuesArePushedFirstOneFirst) {
  InlineStack<2> stack;
  push_all(stack, 1, "two", 3.0);
  push_all(stack);
  ASSERT_EQ(stack.size(), 3u);
  EXPECT_EQ(stack[0].to_int(), 1);
  EXPECT_EQ(stack[1].to_string_view(), "two");
  EXPECT_EQ(stack[2].to_double(), 3.0);
}

TEST_F(Arguments, D6_ASelfIsTheFirstArgumentAndNamesFollow) {
  const Registration method = define("t::method(Tensor self, int n, *, float alpha=1.) -> ()");
  const Schema& schema = registry().require("t::method").schema();
  const std::array<Value, 1> self = {Value(x_)};
  const std::array<NamedValue, 1> named = {NamedValue{"n", Value(3)}};
  Stack stack;
  push_arguments(schema, stack, self, named);
  ASSERT_EQ(stack.size(), 3u);
  EXPECT_TRUE(stack[0].to_tensor().same(x_));
  EXPECT_EQ(stack[1].to_int(), 3);
  EXPECT_EQ(stack[2].to_double(), 1.);
  const std::array<NamedValue, 2> twice = {NamedValue{"self", Value(x_)}, named[0]};
  EXPECT_EQ(thrown_by([&] { push_arguments(schema, stack, self, twice); }).kind,
            ErrorKind::BadArgument);
  EXPECT_EQ(stack.size(), 3u);
}

TEST_F(Arguments, D6_ResultsReplaceTheArgumentsAndWhatIsBelowStays) {
  const Registration op = define("t::swap(int a, int b, bool fail=False) -> (int, int)");
  const Registration kernel =
      implement("t::swap", DispatchKey::CompositeExplicitAutograd,
                Kernel::from([](std::int64_t a, std::int64_t b,
                                bool fail) -> std::tuple<std::int64_t, std::int64_t> {
                  OPYARD_CHECK(!fail, BadValue, "planted");
                  return {b, a};
                }));
  const Operator& swap = registry().require("t::swap");
  Stack stack;
  push_all(stack, "below", 2.5, 1, 2, false);
  swap.call_boxed(stack);
  ASSERT_EQ(stack.size(), 4u);
  EXPECT_EQ(stack[0], Value("below"));
  EXPECT_EQ(stack[1], Value(2.5));
  EXPECT_EQ(stack[2].to_int(), 2);
  EXPECT_EQ(stack[3].to_int(), 1);
  stack.push(true);  // the results are the next call's arguments
  EXPECT_EQ(thrown_by([&] { swap.call_boxed(stack); }).text.substr(0, 7), "planted");
  ASSERT_EQ(stack.size(), 2u) << "the arguments are consumed";
  EXPECT_EQ(stack[0], Value("below"));
  EXPECT_EQ(stack[1], Value(2.5));
}

TEST_F(Arguments, C29_WhatDoesNotFitIsNamed) {
  const std::string schema = std::string("Schema: ") + kDeclaration;
  const std::string declaration = std::string("Declaration: ") + kDeclaration;
  const NamedValue mode{"mode", Value("m")};
  EXPECT_EQ(refused({x_, 1, 2.0}, {mode}).text,
            "Expected at most 2 argument(s) for operator 't::take', but received 3 argument(s). " +
                declaration);
  EXPECT_EQ(refused({x_}, {}).text,
            "t::take() is missing value for argument 'mode'. " + declaration);
  EXPECT_EQ(refused({x_}, {mode, {"bogus", Value(1)}}).text,
            "Unknown keyword argument 'bogus' for operator 't::take'. " + schema);
  EXPECT_EQ(refused({x_}, {{"bogus", Value(1)}}).text,
            "t::take() is missing value for argument 'mode'. " + declaration)
      << "unknown names are reported last";
  EXPECT_NE(refused({x_, 1}, {{"bogus", Value(1)}, mode, {"n", Value(1)}}).text.find("both as"),
            std::string::npos);
  EXPECT_EQ(refused({x_}, {{"bogus", Value(1)}, mode, {"other", Value(1)}}).text,
            "Unknown keyword argument 'bogus' for operator 't::take'. " + schema)
      << "the first one";
  for (const Thrown& twice :
       {refused({x_, 1}, {mode, {"n", Value(1)}}), refused({x_}, {mode, mode})}) {
    EXPECT_NE(twice.text.find("specified both as positional and keyword argument, or twice"),
              std::string::npos)
        << twice.text;
  }
  Stack stack;
  const std::array<Value, 2> wrong = {Value(x_), Value("two")};
  push_arguments(take_.schema(), stack, wrong, {&mode, 1});
  EXPECT_EQ(thrown_by([&] { take_.call_boxed(stack); }).kind, ErrorKind::BadArgument);
}

TEST_F(Arguments, D6_ResultsAreOneValue) {
  const Registration none = define("t::none() -> ()");
  const Registration two = define("t::two() -> (int, int)");
  Stack stack;
  stack.push(7);
  EXPECT_TRUE(pop_results(registry().require("t::none").schema(), stack).is_none());
  EXPECT_EQ(stack.size(), 1u);
  const Registration one = define("t::one() -> int");
  EXPECT_EQ(pop_results(registry().require("t::one").schema(), stack).to_int(), 7);
  EXPECT_TRUE(stack.empty());
  stack.push(7);
  stack.push(8);
  const Value both = pop_results(registry().require("t::two").schema(), stack);
  ASSERT_TRUE(both.is_tuple());
  EXPECT_EQ(both.to_tuple()[0].to_int(), 7);
  EXPECT_EQ(both.to_tuple()[1].to_int(), 8);
  EXPECT_TRUE(stack.empty());
}

}  // namespace
}  // namespace opyard::test_arguments
