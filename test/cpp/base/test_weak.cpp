// test_weak.cpp: protects weak references to counted objects, also after an object's end.
// Suspect dispatcher/src/base/weak.cpp.
#include "opyard/base/weak.h"

#include <gtest/gtest.h>

#include "../failing_allocator.h"
#include "opyard/tensor/tensor_impl.h"

namespace opyard::test_weak {
namespace {

struct Thing final : Counted {
  explicit Thing(int* deaths) : deaths(deaths) {}
  ~Thing() override { ++*deaths; }
  int* const deaths;
};

TEST(Weak, DoesNotKeepTheObjectAlive) {
  int deaths = 0;
  auto thing = make_counted<Thing>(&deaths);
  const WeakPtr<Thing> weak(thing);
  EXPECT_EQ(thing->owner_count(), 1u);
  EXPECT_EQ(weak.lock(), thing);
  EXPECT_FALSE(weak.expired());
  thing.reset();
  EXPECT_EQ(deaths, 1);
  EXPECT_TRUE(weak.expired());
  EXPECT_FALSE(weak.lock());
}

TEST(Weak, WhatIsLockedStaysAlive) {
  int deaths = 0;
  auto thing = make_counted<Thing>(&deaths);
  const WeakPtr<Thing> weak(thing);
  {
    const CountedPtr<Thing> locked = weak.lock();
    thing.reset();
    EXPECT_EQ(deaths, 0);
    EXPECT_EQ(locked->owner_count(), 1u);
  }
  EXPECT_EQ(deaths, 1);
}

TEST(Weak, AllWatchersOfAnObjectSeeItsEnd) {
  int deaths = 0;
  auto thing = make_counted<Thing>(&deaths);
  const WeakPtr<Thing> first(thing);
  const WeakPtr<Thing> second(thing);
  const WeakPtr<Thing> copy = first;
  EXPECT_EQ(second.lock(), thing);
  thing.reset();
  EXPECT_TRUE(first.expired() && second.expired() && copy.expired());
}

TEST(Weak, AnObjectMayBeWatchedAgainAfterAllWatchersHaveGone) {
  int deaths = 0;
  auto thing = make_counted<Thing>(&deaths);
  for (int i = 0; i < 3; ++i) {
    const WeakPtr<Thing> weak(thing);
    EXPECT_EQ(weak.lock(), thing);
  }
  const WeakPtr<Thing> last(thing);
  thing.reset();
  EXPECT_TRUE(last.expired());
}

TEST(Weak, ANullPointerHasExpired) {
  EXPECT_TRUE(WeakPtr<Thing>().expired());
  EXPECT_TRUE(WeakPtr<Thing>(CountedPtr<Thing>()).expired());
}

TEST(Weak, MakingOneLosesNothingWhenMemoryRunsOut) {
  int deaths = 0;
  const auto thing = make_counted<Thing>(&deaths);
  fail_every_allocation([&] { EXPECT_EQ(WeakPtr<Thing>(thing).lock(), thing); });
  EXPECT_EQ(thing->owner_count(), 1u);
}

}  // namespace
}  // namespace opyard::test_weak
