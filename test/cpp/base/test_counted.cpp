// test_counted.cpp: protects the counting of owners, and the seam that objects come through.
// Suspect dispatcher/src/base/counted.cpp and alloc.cpp.
#include "opyard/base/counted.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "../failing_allocator.h"

namespace opyard::test_counted {
namespace {

// Counts how many of it are alive.
struct Probe : Counted {
  Probe() { ++alive; }
  explicit Probe(bool fails) : Probe() {
    if (fails) throw 42;
  }
  ~Probe() override { --alive; }
  static inline std::atomic<int> alive{0};
};

struct WiderProbe final : Probe {
  char more[200] = {};
};

TEST(Counted, AnObjectIsBornWithOneOwnerAndDiesWithTheLast) {
  CountedPtr<Probe> first = make_counted<Probe>();
  EXPECT_EQ(first->owner_count(), 1u);
  CountedPtr<Probe> second = first;
  EXPECT_EQ(first->owner_count(), 2u);
  first.reset();
  EXPECT_EQ(Probe::alive, 1);
  EXPECT_FALSE(first);
  second.reset();
  EXPECT_EQ(Probe::alive, 0);
}

TEST(Counted, MovingDoesNotCount) {
  CountedPtr<Probe> first = make_counted<Probe>();
  Probe* const object = first.get();
  CountedPtr<Probe> second = std::move(first);
  EXPECT_EQ(second.get(), object);
  EXPECT_EQ(second->owner_count(), 1u);
  EXPECT_EQ(first.get(), nullptr);  // NOLINT(bugprone-use-after-move)
}

TEST(Counted, StealTakesAnOwnerOverAndShareAddsOne) {
  Probe* const raw = make_counted<Probe>().release();
  EXPECT_EQ(raw->owner_count(), 1u);
  CountedPtr<Probe> stolen = CountedPtr<Probe>::steal(raw);
  EXPECT_EQ(raw->owner_count(), 1u);
  CountedPtr<Probe> shared = CountedPtr<Probe>::share(raw);
  EXPECT_EQ(raw->owner_count(), 2u);
}

TEST(Counted, AssigningLetsTheFormerObjectGo) {
  CountedPtr<Probe> pointer = make_counted<Probe>();
  pointer = make_counted<Probe>();
  EXPECT_EQ(Probe::alive, 1);
  const CountedPtr<Probe>& same = pointer;
  pointer = same;
  EXPECT_EQ(pointer->owner_count(), 1u) << "assigning a pointer to itself keeps its object";
  pointer = nullptr;
  EXPECT_EQ(Probe::alive, 0);
}

TEST(Counted, APointerToADerivedClassConvertsAndGivesBackAllItsBytes) {
  const AllocationCount before = live_allocations();
  CountedPtr<Counted> base = make_counted<WiderProbe>();
  EXPECT_EQ(live_allocations().bytes, before.bytes + sizeof(WiderProbe));
  base.reset();
  EXPECT_EQ(live_allocations().bytes, before.bytes);
  EXPECT_EQ(live_allocations().blocks, before.blocks);
}

TEST(Counted, AConstructorThatThrowsLeavesNoMemoryBehind) {
  const AllocationCount before = live_allocations();
  EXPECT_THROW(make_counted<Probe>(true), int);
  EXPECT_EQ(live_allocations().blocks, before.blocks);
  EXPECT_EQ(Probe::alive, 0);
}

// Its destructor looks at the pointer through which it was owned.
struct LooksBack final : Counted {
  explicit LooksBack(CountedPtr<LooksBack>& owner) : owner_(owner) {}
  ~LooksBack() override {
    seen_null = owner_.get() == nullptr;
    owner_.reset();
  }
  CountedPtr<LooksBack>& owner_;
  static inline bool seen_null = false;
};

TEST(Counted, ResettingEmptiesThePointerBeforeTheObjectDies) {
  CountedPtr<LooksBack> owner;
  owner = make_counted<LooksBack>(owner);
  owner.reset();
  EXPECT_TRUE(LooksBack::seen_null);
}

TEST(Counted, ThreadsMayShareAndLetGoAtOnce) {
  CountedPtr<Probe> shared = make_counted<Probe>();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([copy = shared] {
      for (int round = 0; round < 20000; ++round) {
        CountedPtr<Probe> mine = copy;
        CountedPtr<Probe> moved = std::move(mine);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared->owner_count(), 1u) << "the threads' copies are gone, and no count was lost";
  shared.reset();
  EXPECT_EQ(Probe::alive, 0);
}

TEST(Allocator, ZeroBytesAreAnAddressOfTheirOwn) {
  void* const first = allocate(0);
  void* const second = allocate(0);
  EXPECT_NE(first, nullptr);
  EXPECT_NE(first, second);
  deallocate(first, 0);
  deallocate(second, 0);
}

TEST(Allocator, AlignmentIsHonoured) {
  for (std::size_t alignment = 16; alignment <= 4096; alignment *= 2) {
    void* const memory = allocate(24, alignment);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % alignment, 0u) << alignment;
    deallocate(memory, 24, alignment);
  }
}

TEST(Allocator, ARefusedRequestThrowsAndCountsNothing) {
  const AllocationCount before = live_allocations();
  EXPECT_EQ(fail_every_allocation([] { make_counted<Probe>(); }), 1);
  EXPECT_EQ(live_allocations().blocks, before.blocks);
}

TEST(Allocator, ReplacingReturnsTheFormerOneAndNullRestoresTheDefault) {
  static constexpr Allocator kOther{
      [](std::size_t bytes, std::size_t) { return std::malloc(bytes); },
      [](void* memory, std::size_t, std::size_t) { std::free(memory); }};
  const Allocator* const former = set_allocator(&kOther);
  EXPECT_EQ(set_allocator(nullptr), &kOther);
  EXPECT_EQ(set_allocator(former), former) << "null stands for the default, which was in use";
}

}  // namespace
}  // namespace opyard::test_counted
