// test_declared_writes.cpp: protects writes that a schema declares, and counting them (G11).
// Suspect dispatcher/src/schema/declared_writes.cpp.
#include "opyard/detail/schema/declared_writes.h"

#include <gtest/gtest.h>

#include <array>

#include "opyard/schema/parse.h"
#include "opyard/tensor/tensor.h"

namespace opyard::test_declared_writes {
namespace {

std::vector<int> returned_by(const char* schema) {
  return returned_arguments(parse_schema(schema));
}

TEST(DeclaredWrites, G11_AResultIsTheWrittenArgumentOfItsSet) {
  using Positions = std::vector<int>;
  EXPECT_EQ(returned_by("t::f(Tensor(a!) x) -> Tensor(a!)"), Positions{0});
  EXPECT_EQ(returned_by("t::f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"), Positions{1});
  EXPECT_EQ(
      returned_by("t::f(Tensor x, Tensor(a!) y, Tensor(b!) z) -> (Tensor(b!), Tensor, Tensor(a!))"),
      (Positions{2, kNoArgument, 1}));
  EXPECT_EQ(returned_by("t::f(Tensor(a!)[] xs) -> Tensor(a!)[]"), Positions{0});
}

TEST(DeclaredWrites, G11_OtherResultsAreNone) {
  for (const char* schema :
       {"t::f(Tensor x) -> Tensor", "t::f(Tensor(a) x) -> Tensor(a)", "t::f(Tensor(a!) x) -> ()",
        "t::f(Tensor(a!) x) -> Tensor", "t::f(Tensor(a!)[] xs) -> Tensor(a!)"}) {
    EXPECT_TRUE(returned_by(schema).empty()) << schema;
  }
}

TEST(DeclaredWrites, G11_AResultIsAViewOfTheArgumentOfItsSet) {
  using Positions = std::vector<int>;
  const auto viewed_by = [](const char* schema) { return viewed_arguments(parse_schema(schema)); };
  EXPECT_EQ(viewed_by("t::f(int n, Tensor(a) x) -> Tensor(a)"), Positions{1});
  EXPECT_EQ(viewed_by("t::f(Tensor(a) x) -> (Tensor, Tensor(a)[])"), (Positions{kNoArgument, 0}));
  for (const char* schema : {"t::f(Tensor x) -> Tensor", "t::f(Tensor(a!) x) -> Tensor(a!)"}) {
    EXPECT_TRUE(viewed_by(schema).empty()) << schema;
  }
}

TEST(DeclaredWrites, G11_WhatCountsItselfAndRaisesHasMadeNoOtherWrites) {
  const Schema schema = parse_schema("t::f(Tensor(a!) x, Tensor(b!) y) -> ()");
  const Tensor x = Tensor::empty(std::array{std::int64_t{2}});
  const Tensor y = Tensor::empty(std::array{std::int64_t{2}});
  const std::vector<Value> arguments = {Value(x), Value(y)};
  try {
    DeclaredWrites counted(schema, arguments);
    counted.unless_raised([&] {
      static_cast<void>(x.mutable_raw());
      fail(ErrorKind::BadValue, "refused");
    });
  } catch (const Error&) {
  }
  EXPECT_EQ(x.impl()->storage()->version(), 1u);
  EXPECT_EQ(y.impl()->storage()->version(), 0u);
  {
    DeclaredWrites counted(schema, arguments);
    counted.unless_raised([] {});
  }
  EXPECT_EQ(y.impl()->storage()->version(), 1u);
}

Tensor made() { return Tensor::empty(std::array{std::int64_t{2}}); }

TEST(DeclaredWrites, G11_EachMemoryIsCountedOnceUnlessItWasCounted) {
  const Schema schema =
      parse_schema("t::f(Tensor r, Tensor(a!) x, Tensor(b!)[] ys, Tensor(c!)? z) -> ()");
  const Tensor read = made(), x = made(), first = made(), second = made();
  const std::vector<Value> arguments = {
      Value(read), Value(x), Value::list({Value(first), Value(second), Value(x)}), Value()};
  const auto versions = [&] {
    std::vector<std::uint32_t> all;
    for (const Tensor& one : {read, x, first, second})
      all.push_back(one.impl()->storage()->version());
    return all;
  };
  using Versions = std::vector<std::uint32_t>;
  {
    const DeclaredWrites counted(schema, arguments);
    static_cast<void>(second.mutable_raw());
    EXPECT_EQ(versions(), (Versions{0, 0, 0, 1}));
  }
  EXPECT_EQ(versions(), (Versions{0, 1, 1, 1}));
  try {
    const DeclaredWrites counted(schema, arguments);
    fail(ErrorKind::BadValue, "the kernel raises");
  } catch (const Error&) {
    EXPECT_EQ(versions(), (Versions{0, 2, 2, 2}));
  }
  {
    DeclaredWrites dropped(schema, arguments);
    dropped.drop();
  }
  EXPECT_EQ(versions(), (Versions{0, 2, 2, 2}));
}

}  // namespace
}  // namespace opyard::test_declared_writes
