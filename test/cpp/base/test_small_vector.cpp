// test_small_vector.cpp: protects a vector that moves its elements to the heap when they grow.
// Suspect opyard/detail/base/small_vector.h.
//
// Every test runs on both sides of the border between in place (up to 3 here) and the heap.
#include "opyard/detail/base/small_vector.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "../failing_allocator.h"

namespace opyard::test_small_vector {
namespace {

using Small = SmallVector<std::int64_t, 3>;

std::vector<std::int64_t> contents(const Small& vector) { return {vector.begin(), vector.end()}; }

std::vector<std::int64_t> counting(std::size_t count) {
  std::vector<std::int64_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = std::int64_t(10 + i);
  return values;
}

TEST(SmallVector, NoMemoryIsTakenUpToTheElementsInPlace) {
  const AllocationCount before = live_allocations();
  Small vector(std::size_t{3}, 7);
  EXPECT_EQ(live_allocations().blocks, before.blocks);
  vector.push_back(8);
  EXPECT_EQ(live_allocations().blocks, before.blocks + 1);
  EXPECT_EQ(contents(vector), (std::vector<std::int64_t>{7, 7, 7, 8}));
}

TEST(SmallVector, CopiesAndMovesOfEverySize) {
  for (std::size_t size = 0; size < 9; ++size) {
    const std::vector<std::int64_t> values = counting(size);
    const Small original{std::span<const std::int64_t>(values)};
    Small copy = original;
    EXPECT_EQ(contents(copy), values);
    EXPECT_EQ(copy, original);
    Small moved = std::move(copy);
    EXPECT_EQ(contents(moved), values);
    EXPECT_TRUE(copy.empty());  // NOLINT(bugprone-use-after-move)
    copy.push_back(1);
    EXPECT_EQ(copy.size(), 1u) << "a vector that was moved from can be used again";
    copy = original;
    EXPECT_EQ(contents(copy), values);
    copy = std::move(moved);
    EXPECT_EQ(contents(copy), values);
    Small& self = copy;
    copy = self;
    EXPECT_EQ(contents(copy), values);
    copy = std::move(self);
    EXPECT_EQ(contents(copy), values);
  }
}

TEST(SmallVector, DoesAsStdVectorDoes) {
  std::mt19937 random(20240611);
  for (int run = 0; run < 200; ++run) {
    Small vector;
    std::vector<std::int64_t> model;
    for (int step = 0; step < 40; ++step) {
      const auto value = std::int64_t(random() % 1000);
      const std::size_t size = random() % 10;
      switch (random() % 6) {
        case 0:
          vector.clear();
          model.clear();
          break;
        case 1:
          vector.resize(size, value);
          model.resize(size, value);
          break;
        case 2:
          vector.assign(counting(size));
          model = counting(size);
          break;
        case 3:
          vector.reserve(size);
          break;
        default:
          vector.push_back(value);
          model.push_back(value);
      }
      ASSERT_EQ(contents(vector), model);
      ASSERT_EQ(vector.empty(), model.empty());
      if (!model.empty()) {
        EXPECT_EQ(vector.back(), model.back());
      }
    }
  }
}

TEST(SmallVector, AnElementOfItsOwnMayBeAddedWhileItGrows) {
  Small pushed{1, 2, 3};
  pushed.push_back(pushed[0]);
  EXPECT_EQ(contents(pushed), (std::vector<std::int64_t>{1, 2, 3, 1}));
  Small resized{4, 5, 6, 7};
  resized.resize(20, resized[3]);
  EXPECT_EQ(resized[19], 7);
  Small assigned{1, 2, 3, 4, 5};
  assigned.assign(std::span<const std::int64_t>(assigned).subspan(1, 3));
  EXPECT_EQ(contents(assigned), (std::vector<std::int64_t>{2, 3, 4}));
}

TEST(SmallVector, DifferentSizesAreNotEqual) {
  EXPECT_EQ((Small{1, 2}), (Small{1, 2}));
  EXPECT_FALSE((Small{1, 2}) == (Small{1, 2, 3}));
  EXPECT_FALSE((Small{1, 2}) == (Small{1, 3}));
}

TEST(SmallVector, WithoutMemoryItKeepsWhatItHad) {
  Small vector{1, 2, 3};
  {
    FailingAllocator allocator(0);
    EXPECT_THROW(vector.push_back(4), std::bad_alloc);
    EXPECT_THROW(Small copy(counting(5)), std::bad_alloc);
  }
  EXPECT_EQ(contents(vector), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(fail_every_allocation([] {
              Small a(counting(5));
              Small b = a;
              b.resize(50);
            }),
            3);
}

TEST(SmallVector, MoreElementsThanItCanCountAreRefused) {
  Small vector;
  EXPECT_THROW(vector.reserve(std::size_t{UINT32_MAX} + 1), std::bad_alloc);
  EXPECT_TRUE(vector.empty());
}

}  // namespace
}  // namespace opyard::test_small_vector
