// test_value_cycles.cpp: protects the process from containers that are inside themselves, that are
// nested a million times, and that share their elements.
// Suspect dispatcher/src/value/dismantle.h, deep_copy.cpp and alias.cpp.
//
// What can be reached from a value may have no end, more levels than the stack has room for, or
// more ways to it than there are atoms. Each test does with such values what anyone may do with
// values.
#include <gtest/gtest.h>

#include "../one_of_each.h"
#include "../thrown_by.h"
#include "opyard/value/alias.h"
#include "opyard/value/deep_copy.h"
#include "opyard/value/dict.h"
#include "opyard/value/hash.h"
#include "opyard/value/list.h"

namespace opyard::test_value_cycles {
namespace {

using Dicts = Dict<std::string, Value>;

// A list whose only element it is itself; emptied at the end, so that it is freed.
struct Ring {
  List<Value> list;
  Ring() { list.push_back(list.value()); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() { list.clear(); }
};

// A dict that holds a list that holds a tuple that holds the dict, and a number.
struct Knot {
  Dicts dict;
  List<Value> list;
  explicit Knot(int number) {
    dict.insert("list", list.value());
    list.push_back(Value::tuple({dict.value(), Value(number)}));
  }
  Knot(const Knot&) = delete;
  Knot& operator=(const Knot&) = delete;
  ~Knot() { list.clear(); }
};

constexpr int kLevels = 200'000;

Value nested(int levels) {
  Value value = Value::list({Value(1)});
  for (int i = 0; i < levels; ++i) {
    value = i % 3 == 0   ? Value::tuple({std::move(value)})
            : i % 3 == 1 ? Value::list({std::move(value)})
                         : Value::dict({{Value(0), std::move(value)}});
  }
  return value;
}

// As many ways lead to the innermost list as 2 to the power of `levels`.
Value shared(int levels) {
  Value value = Value::list({Value(1)});
  for (int i = 0; i < levels; ++i) {
    value = i % 3 == 0   ? Value::tuple({value, value})
            : i % 3 == 1 ? Value::list({value, value})
                         : Value::dict({{Value(0), value}, {Value(1), value}});
  }
  return value;
}

TEST(ValueCycles, D4_AListInsideItselfIsPrintedOnce) {
  const Ring ring;
  EXPECT_EQ(to_string(ring.list.value()), "[[...]]");
  const Knot knot(7);
  EXPECT_EQ(to_string(knot.dict.value()), "{list: [({...}, 7)]}");
  EXPECT_EQ(to_string(knot.list.value()), "[({list: [...]}, 7)]");
  const Value twice = Value::list({Value(1)});
  EXPECT_EQ(to_string(Value::tuple({twice, twice})), "([1], [1])") << "it is not inside itself";
}

TEST(ValueCycles, D4_ListsInsideThemselvesAreCompared) {
  const Ring a, b;
  EXPECT_TRUE(a.list.value() == a.list.value());
  EXPECT_TRUE(a.list.value() == b.list.value()) << "no difference can be reached";
  const Ring longer;
  longer.list.push_back(Value(1));
  EXPECT_FALSE(a.list.value() == longer.list.value());
  const Knot first(7), second(7), third(8);
  EXPECT_TRUE(first.dict.value() == second.dict.value());
  EXPECT_FALSE(first.dict.value() == third.dict.value());
}

TEST(ValueCycles, D4_WhatIsReachedFromAListInsideItselfIsFoundOnce) {
  const Ring ring;
  EXPECT_EQ(sub_values(ring.list.value()).size(), 1u);
  const Knot knot(7);
  EXPECT_EQ(sub_values(knot.dict.value()).size(), 3u);
  EXPECT_TRUE(overlaps(knot.dict.value(), Value::list({knot.list.value()})));
  EXPECT_FALSE(overlaps(knot.dict.value(), ring.list.value()));
}

TEST(ValueCycles, D4_AListInsideItselfIsCopiedWithItsShape) {
  const AllocationCount before = live_allocations();
  {
    const Ring ring;
    const List<Value> copy(deep_copy(ring.list.value()));
    ASSERT_EQ(copy.size(), 1u);
    EXPECT_FALSE(copy.identical(ring.list));
    EXPECT_TRUE(copy[0].identical(copy.value()));
    copy.clear();

    const Knot knot(7);
    const Dicts other(deep_copy(knot.dict.value()));
    const List<Value> list(other.at("list"));
    EXPECT_TRUE(list[0].to_tuple()[0].identical(other.value()));
    EXPECT_FALSE(other.identical(knot.dict));
    list.clear();
  }
  EXPECT_EQ(live_allocations().blocks, before.blocks);
}

TEST(ValueCycles, D4_ATupleAroundAListInsideItselfHasNoHash) {
  const Ring ring;
  EXPECT_EQ(thrown_by([&] { hash_of(Value::tuple({ring.list.value()})); }).kind,
            ErrorKind::BadArgument);
}

TEST(ValueCycles, D4_ManyLevelsCostNoStack) {
  const AllocationCount before = live_allocations();
  {
    const Value a = nested(kLevels);
    const Value b = nested(kLevels);
    EXPECT_TRUE(a == b);
    EXPECT_FALSE(a == nested(kLevels - 3));
    const std::string text = to_string(a);
    EXPECT_LT(text.size(), 1000u);
    EXPECT_NE(text.find("..."), std::string::npos);
    EXPECT_EQ(sub_values(a).size(), std::size_t{kLevels} + 1);
    const Value copy = deep_copy(a);
    EXPECT_TRUE(copy == b);
    EXPECT_FALSE(overlaps(copy, a));
    Value tuples = Value::tuple({Value(1)});
    for (int i = 0; i < kLevels; ++i) tuples = Value::tuple({std::move(tuples)});
    EXPECT_EQ(hash_of(tuples), hash_of(tuples));
  }
  EXPECT_EQ(live_allocations().blocks, before.blocks);
}

TEST(ValueCycles, D4_SharedElementsAreVisitedOnce) {
  const AllocationCount before = live_allocations();
  {
    const Value a = shared(200);
    const Value b = shared(200);
    EXPECT_TRUE(a == b);
    EXPECT_EQ(sub_values(a).size(), 201u);
    EXPECT_TRUE(deep_copy(a) == a);
    EXPECT_EQ(sub_values(deep_copy(a)).size(), 201u);
    EXPECT_LT(to_string(a).size(), std::size_t{64} << 20) << "printing ends";
  }
  EXPECT_EQ(live_allocations().blocks, before.blocks);
}

TEST(ValueCycles, D4_ElementsThatOccurTwiceOnEachOfManyLevelsCostNoStack) {
  const AllocationCount before = live_allocations();
  {
    Value value = Value::list({Value(1)});
    for (int i = 0; i < kLevels; ++i) value = Value::list({value, value});
  }
  EXPECT_EQ(live_allocations().blocks, before.blocks);
}

TEST(ValueCycles, D5_ADictThatOthersStillHoldSurvivesItsOuterOne) {
  const Value inner = Value::dict({{Value(1), Value("kept")}});
  {
    const Value outer = Value::dict({{Value(1), inner}, {Value(2), Value::list({inner})}});
  }
  EXPECT_EQ(to_string(inner), "{1: kept}");
}

}  // namespace
}  // namespace opyard::test_value_cycles
