// test_value.cpp: protects ownership of a value's contents. Suspect dispatcher/src/value/value.cpp.
#include "opyard/value/value.h"

#include <gtest/gtest.h>

#include "../failing_allocator.h"
#include "../one_of_each.h"
#include "../thrown_by.h"
#include "opyard/value/list.h"

namespace opyard::test_value {
namespace {

constexpr std::int64_t kTwo[] = {2};

Tensor two_floats() { return Tensor::empty(kTwo); }

std::uint32_t owners(const Tensor& tensor) { return tensor.impl()->owner_count(); }

TEST(Value, D1_TakesSixteenBytesAndKnowsItsKind) {
  EXPECT_EQ(sizeof(Value), 16u);
  const std::vector<Value> values = one_of_each(FakeA::create());
  const Kind kinds[] = {
#define OPYARD_VALUE_KIND(tag, name, printed) Kind::name,
#include "opyard/value/kinds.def"
  };
  ASSERT_EQ(values.size(), std::size(kinds));
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i].kind(), kinds[i]);
}

TEST(Value, D1_KindsFrom32OnAreOneCountedPointer) {
  for (const Value& value : one_of_each(FakeA::create())) {
    EXPECT_EQ(is_heap(value.kind()), int(value.kind()) >= 32) << name_of(value.kind());
    if (!is_heap(value.kind())) continue;
    Counted* const object = value.object_unchecked();
    const std::uint32_t before = object->owner_count();
    const Value copy = value;
    EXPECT_EQ(object->owner_count(), before + 1) << name_of(value.kind());
    EXPECT_EQ(copy.object_unchecked(), object);
  }
}

TEST(Value, APointerIsNoBool) {
  static_assert(std::is_constructible_v<Value, bool>);
  static_assert(!std::is_constructible_v<Value, const TensorImpl*>);
  static_assert(!std::is_constructible_v<Value, void*>);
  EXPECT_TRUE(Value(true).to_bool());
  EXPECT_TRUE(Value("text").is_string());
}

TEST(Value, D1_MovedFromIsNone) {
  for (Value& value : one_of_each(FakeA::create())) {
    const Kind kind = value.kind();
    const Value taken = std::move(value);
    EXPECT_EQ(taken.kind(), kind);
    EXPECT_TRUE(value.is_none()) << name_of(kind);  // NOLINT(bugprone-use-after-move)
  }
}

TEST(Value, CopiesCountAndMovesDoNot) {
  const Tensor tensor = two_floats();
  {
    Value value(tensor);
    EXPECT_EQ(owners(tensor), 2u);
    const Value copied = value;
    EXPECT_EQ(owners(tensor), 3u);
    const Value moved = std::move(value);
    EXPECT_EQ(owners(tensor), 3u);
  }
  EXPECT_EQ(owners(tensor), 1u);
}

TEST(Value, AssignmentReleasesTheOldContent) {
  const Tensor tensor = two_floats();
  Value value(tensor);
  value = Value(1);
  EXPECT_EQ(owners(tensor), 1u);
  value = Value(tensor);
  const Value other(2);
  value = other;
  EXPECT_EQ(owners(tensor), 1u);
  EXPECT_EQ(value.to_int(), 2);
}

TEST(Value, MayBeAssignedAnElementOfItself) {
  Value value = Value::list({Value("inner")});
  value = value.to_list()[0];
  EXPECT_EQ(value.to_string_view(), "inner");
}

TEST(Value, AssignmentToItselfChangesNothing) {
  const Tensor tensor = two_floats();
  Value value(tensor);
  Value& same = value;
  value = same;
  value = std::move(same);
  EXPECT_TRUE(value.to_tensor().same(tensor));
  EXPECT_EQ(owners(tensor), 2u);
}

TEST(Value, ABorrowedTensorIsNotCounted) {
  const Tensor tensor = two_floats();
  const std::uint32_t before = owners(tensor);
  {
    alignas(Value) std::byte memory[sizeof(Value)];
    auto* borrowed =
        new (memory) Value(Value::borrow(tensor));  // built in place: it stays borrowed
    EXPECT_EQ(owners(tensor), before);
    EXPECT_TRUE(borrowed->to_tensor().same(tensor));
    borrowed->~Value();
  }
  EXPECT_EQ(owners(tensor), before);
}

TEST(Value, CopyingOrMovingABorrowedTensorMakesAnOwner) {
  const Tensor tensor = two_floats();
  alignas(Value) std::byte memory[sizeof(Value)];
  auto* borrowed = new (memory) Value(Value::borrow(tensor));
  {
    const Value copied = *borrowed;
    EXPECT_EQ(owners(tensor), 2u);
    const Value moved = std::move(*borrowed);
    EXPECT_EQ(owners(tensor), 3u);
    EXPECT_TRUE(borrowed->is_tensor()) << "a borrowed value is still there after the move";
  }
  EXPECT_EQ(owners(tensor), 1u);
  borrowed->~Value();
}

TEST(Value, TakingATensorOutLeavesNone) {
  const Tensor tensor = two_floats();
  Value owned(tensor);
  const Tensor taken = owned.take_tensor();
  EXPECT_TRUE(taken.same(tensor));
  EXPECT_EQ(owners(tensor), 2u) << "an owner moves without counting";
  EXPECT_TRUE(owned.is_none());

  alignas(Value) std::byte memory[sizeof(Value)];
  auto* borrowed = new (memory) Value(Value::borrow(tensor));
  const Tensor shared = borrowed->take_tensor();
  EXPECT_EQ(owners(tensor), 3u) << "what was borrowed is counted when it is taken";
  EXPECT_TRUE(borrowed->is_none());
  borrowed->~Value();
  EXPECT_EQ(owners(tensor), 3u);

  Value number(1);
  EXPECT_THROWN(number.take_tensor(), BadArgument, "expected Tensor but got Int");
  EXPECT_EQ(number.to_int(), 1);
}

TEST(Value, D2_AnUndefinedTensorIsATensorWithoutKeys) {
  const Value value{Tensor()};
  EXPECT_TRUE(value.is_tensor());
  EXPECT_FALSE(value.is_none());
  EXPECT_FALSE(value.to_tensor().defined());
  EXPECT_TRUE(value.to_tensor().keys().empty());
  EXPECT_EQ(to_string(value), "[ Tensor (undefined) ]");
  EXPECT_EQ(value, Value(Tensor()));
  EXPECT_FALSE(value == Value());
  EXPECT_TRUE(Value::borrow(Tensor()).is_tensor());
  Value moved = value;
  EXPECT_FALSE(moved.take_tensor().defined());
}

TEST(Value, AForeignObjectIsReleasedOnce) {
  Interpreter* const interpreter = FakeA::create();
  const int before = FakeA::decrefs;
  int object = 0;
  {
    Value value(make_counted<ForeignObject>(interpreter, &object));
    const Value copy = value;
    value = Value();
    EXPECT_EQ(FakeA::decrefs, before);
    EXPECT_EQ(copy.to_foreign().object, &object);
  }
  EXPECT_EQ(FakeA::decrefs, before + 1);
}

TEST(Value, D5_ListsAreSharedByTheirCopies) {
  const Value list = Value::list({Value(1)});
  const Value copy = list;
  EXPECT_EQ(&list.to_list(), &copy.to_list());
}

TEST(Value, D5_TuplesAreSharedByTheirCopies) {
  const Value inner = Value::list({Value(1)});
  const Value tuple = Value::tuple({inner, Value("a")});
  const Value copy = tuple;
  EXPECT_EQ(&tuple.to_tuple(), &copy.to_tuple());
  List<std::int64_t>(copy.to_tuple()[0]).push_back(2);
  EXPECT_EQ(to_string(tuple), "([1, 2], a)") << "the list inside is one, too";
}

TEST(Value, AMillionLevelsOfListsAreComparedPrintedAndDestroyed) {
  const auto deep = [] {
    Value value = Value::list({Value(1)});
    for (int i = 0; i < 1'000'000; ++i) {
      value = i % 2 == 0 ? Value::tuple({std::move(value)}) : Value::list({std::move(value)});
    }
    return value;
  };
  const AllocationCount before = live_allocations();
  {
    const Value a = deep();
    const Value b = deep();
    EXPECT_TRUE(a == b);
    EXPECT_LT(to_string(a).size(), 400u);
    EXPECT_NE(to_string(a).find("..."), std::string::npos);
  }
  EXPECT_EQ(live_allocations().blocks, before.blocks);
}

TEST(Value, AListThatOthersStillHoldSurvivesItsOuterOne) {
  const Value inner = Value::list({Value("kept")});
  {
    const Value outer = Value::list({inner, Value::tuple({inner})});
  }
  EXPECT_EQ(to_string(inner), "[kept]");
}

TEST(Value, MakingOneLosesNothingWhenMemoryRunsOut) {
  const Tensor tensor = two_floats();
  const int requests = fail_every_allocation([&] {
    const Value list = Value::list({Value(tensor), Value("text"), Value::tuple({Value(1)})});
    EXPECT_EQ(list.to_list().size(), 3u);
  });
  EXPECT_EQ(requests, 3);
  EXPECT_EQ(owners(tensor), 1u);
}

}  // namespace
}  // namespace opyard::test_value
