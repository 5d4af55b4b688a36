// test_stack.cpp: protects values below a call's arguments, and borrowed ones.
// Suspect dispatcher/src/value/stack.cpp.
#include "opyard/value/stack.h"

#include <gtest/gtest.h>

#include "../failing_allocator.h"
#include "../thrown_by.h"

namespace opyard::test_stack {
namespace {

constexpr std::int64_t kTwo[] = {2};

std::uint32_t owners(const Tensor& tensor) { return tensor.impl()->owner_count(); }

TEST(Stack, D6_PushesAndPopsInOrder) {
  InlineStack<4> stack;
  EXPECT_TRUE(stack.empty());
  stack.push(1);
  stack.push("two");
  stack.push(3.0);
  ASSERT_EQ(stack.size(), 3u);
  EXPECT_EQ(stack.peek().to_double(), 3.0);
  EXPECT_EQ(stack.peek(2).to_int(), 1);
  EXPECT_EQ(stack[1].to_string_view(), "two");
  EXPECT_EQ(stack.pop().to_double(), 3.0);
  EXPECT_EQ(stack.pop().to_string_view(), "two");
  EXPECT_EQ(stack.size(), 1u);
}

TEST(Stack, D6_TopIsTheLastValuesFirstOneFirst) {
  InlineStack<4> stack;
  for (int i = 0; i < 4; ++i) stack.push(i);
  const std::span<Value> top = stack.top(2);
  EXPECT_EQ(top[0].to_int(), 2);
  EXPECT_EQ(top[1].to_int(), 3);
  EXPECT_TRUE(stack.top(0).empty());
}

TEST(Stack, D6_DropAndTruncateLeaveWhatLiesBelow) {
  const Tensor tensor = Tensor::empty(kTwo);
  InlineStack<4> stack;
  stack.push(tensor);
  stack.push(tensor);
  stack.push(tensor);
  EXPECT_EQ(owners(tensor), 4u);
  stack.drop(1);
  EXPECT_EQ(owners(tensor), 3u);
  stack.truncate(1);
  EXPECT_EQ(owners(tensor), 2u);
  stack.truncate(3);
  EXPECT_EQ(stack.size(), 1u) << "truncating never adds";
  stack.drop(9);
  EXPECT_EQ(stack.size(), 0u) << "dropping stops at the bottom";
  EXPECT_EQ(owners(tensor), 1u);
}

TEST(Stack, GrowsWhereItsWindowIsFull) {
  const AllocationCount before = live_allocations();
  {
    InlineStack<2> stack;
    const Value* const window = &stack[0];
    stack.push(0);
    stack.push(1);
    EXPECT_EQ(&stack[0], window);
    EXPECT_EQ(live_allocations().blocks, before.blocks);
    for (int i = 2; i < 1000; ++i) stack.push(i);
    EXPECT_NE(&stack[0], window);
    EXPECT_EQ(live_allocations().blocks, before.blocks + 1) << "old windows are given back";
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(stack[std::size_t(i)].to_int(), i);
  }
  EXPECT_EQ(live_allocations().bytes, before.bytes);
}

TEST(Stack, AStackWithoutMemoryAllocatesWithTheFirstPush) {
  const AllocationCount before = live_allocations();
  {
    Stack stack;
    EXPECT_EQ(live_allocations().blocks, before.blocks);
    stack.push(1);
    EXPECT_EQ(live_allocations().blocks, before.blocks + 1);
  }
  EXPECT_EQ(live_allocations().blocks, before.blocks);
}

TEST(Stack, BorrowedTensorsStayBorrowedWhenItGrows) {
  const Tensor tensor = Tensor::empty(kTwo);
  {
    InlineStack<1> stack;
    for (int i = 0; i < 100; ++i) stack.borrow(tensor);
    EXPECT_EQ(owners(tensor), 1u);
    EXPECT_TRUE(stack.peek(99).to_tensor().same(tensor));
  }
  EXPECT_EQ(owners(tensor), 1u);
}

TEST(Stack, OwnedTensorsAreNotCountedAgainWhenItGrows) {
  const Tensor tensor = Tensor::empty(kTwo);
  {
    InlineStack<1> stack;
    for (int i = 0; i < 100; ++i) stack.push(tensor);
    EXPECT_EQ(owners(tensor), 101u);
  }
  EXPECT_EQ(owners(tensor), 1u);
}

TEST(Stack, PoppingABorrowedTensorMakesAnOwner) {
  const Tensor tensor = Tensor::empty(kTwo);
  InlineStack<1> stack;
  stack.borrow(tensor);
  const Value popped = stack.pop();
  EXPECT_EQ(owners(tensor), 2u);
  EXPECT_TRUE(stack.empty());
}

TEST(Stack, AskingForMoreThanThereIsSaysSo) {
  InlineStack<4> stack;
  EXPECT_THROWN(stack.pop(), BadArgument,
                "the stack has 0 values but 1 was asked for; arguments are pushed in schema order "
                "before a call, and results replace them");
  stack.push(1);
  EXPECT_THROWN(stack.top(3), BadArgument,
                "the stack has 1 value but 3 were asked for; arguments are pushed in schema order "
                "before a call, and results replace them");
  EXPECT_EQ(stack.size(), 1u);
}

TEST(Stack, APushWithoutMemoryChangesNothing) {
  const Tensor tensor = Tensor::empty(kTwo);
  InlineStack<2> stack;
  stack.push(tensor);
  stack.borrow(tensor);
  {
    const FailingAllocator none(0);
    EXPECT_THROW(stack.push(Value(tensor)), std::bad_alloc);
    EXPECT_THROW(stack.borrow(tensor), std::bad_alloc);
  }
  EXPECT_EQ(stack.size(), 2u);
  EXPECT_EQ(owners(tensor), 2u) << "the value that was not pushed is gone, the others stay";
  stack.push(7);
  EXPECT_EQ(stack.peek().to_int(), 7);
  EXPECT_TRUE(stack.peek(1).to_tensor().same(tensor));
}

TEST(Stack, GrowingLosesNothingWhenMemoryRunsOut) {
  const Tensor tensor = Tensor::empty(kTwo);
  const int requests = fail_every_allocation([&] {
    InlineStack<1> stack;
    for (int i = 0; i < 20; ++i) stack.push(tensor);
    EXPECT_EQ(stack.size(), 20u);
  });
  EXPECT_EQ(requests, 3) << "8, 16, 32 values";
  EXPECT_EQ(owners(tensor), 1u);
}

}  // namespace
}  // namespace opyard::test_stack
