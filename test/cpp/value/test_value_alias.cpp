// test_value_alias.cpp: protects alias relations of values. Suspect dispatcher/src/value/alias.cpp.
#include "opyard/value/alias.h"

#include <gtest/gtest.h>

#include "../one_of_each.h"

namespace opyard::test_value_alias {
namespace {

constexpr std::int64_t kTwo[] = {2};

TEST(ValueAlias, D4_TensorsWithTheSameMemoryAreAliases) {
  const Tensor tensor = Tensor::empty(kTwo);
  const Value storage(tensor.impl()->storage());
  EXPECT_TRUE(is_alias_of(Value(tensor), Value(tensor)));
  EXPECT_TRUE(is_alias_of(Value(tensor), Value(tensor.alias())));
  EXPECT_TRUE(is_alias_of(Value(tensor), storage));
  EXPECT_TRUE(is_alias_of(storage, Value(tensor.alias())));
  EXPECT_FALSE(is_alias_of(Value(tensor), Value(Tensor::empty(kTwo))));
  EXPECT_FALSE(is_alias_of(Value(Tensor()), Value(Tensor())));
}

TEST(ValueAlias, D4_WhatCannotChangeAliasesNothing) {
  for (const Value& value : one_of_each(FakeA::create())) {
    const bool can_change = value.is_tensor() || value.is_list() || value.is_tuple() ||
                            value.is_foreign() || value.is_storage() || value.is_generator() ||
                            value.is_capsule() || value.is_object() || value.is_dict() ||
                            value.is_future();
    EXPECT_EQ(is_alias_of(value, value), can_change) << name_of(value.kind());
    EXPECT_EQ(overlaps(value, value), can_change) << name_of(value.kind());
    EXPECT_EQ(sub_values(value).size(), can_change ? 1u : 0u) << name_of(value.kind());
  }
}

TEST(ValueAlias, D4_TwoValuesOfOneForeignObjectAreAliases) {
  Interpreter* const interpreter = FakeA::create();
  int object = 0;
  int other = 0;
  const Value first(make_counted<ForeignObject>(interpreter, &object));
  const Value second(make_counted<ForeignObject>(interpreter, &object));
  EXPECT_TRUE(is_alias_of(first, second));
  EXPECT_FALSE(is_alias_of(first, Value(make_counted<ForeignObject>(interpreter, &other))));
}

TEST(ValueAlias, D4_SubValuesAreFoundFromTheOutsideInAndOnce) {
  const Value tensor(Tensor::empty(kTwo));
  const Value inner = Value::list({tensor, Value(1), Value("text")});
  const Value outer = Value::dict({{tensor, inner}, {Value("again"), inner}});
  const std::vector<Value> found = sub_values(outer);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(found[0].identical(outer));
  EXPECT_TRUE(found[1].identical(tensor));
  EXPECT_TRUE(found[2].identical(inner));
}

TEST(ValueAlias, D4_ObjectsOfUsersSayWhatTheyHold) {
  struct Holder : Object {
    void append_values(std::vector<Value>& values) const override { values.push_back(held); }
    Value held;
  };
  register_class<Holder>("test.AliasHolder");
  const auto holder = make_counted<Holder>();
  const Value list = Value::list({});
  holder->held = list;
  EXPECT_EQ(sub_values(Value(holder)).size(), 2u);
  EXPECT_TRUE(overlaps(Value(holder), list));
}

TEST(ValueAlias, D4_ValuesOverlapWhereTheyReachTheSameMemory) {
  const Tensor tensor = Tensor::empty(kTwo);
  const Value a = Value::list({Value(1), Value::tuple({Value(tensor)})});
  const Value b = Value::dict({{Value("t"), Value(tensor.alias())}});
  EXPECT_TRUE(overlaps(a, b));
  EXPECT_TRUE(overlaps(b, a));
  EXPECT_FALSE(is_alias_of(a, b));
  EXPECT_FALSE(overlaps(a, Value::list({Value(1), Value(Tensor::empty(kTwo))})));
}

}  // namespace
}  // namespace opyard::test_value_alias
