// test_object_slot.cpp: protects the rule that an object belongs to one interpreter, for ever.
#include "opyard/slot/object_slot.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "fake_interpreter.h"
#include "thrown_by.h"

namespace opyard {
namespace {

constexpr const char* kAInB =
    "this object belongs to interpreter A and cannot be used in interpreter B; "
    "pass t.alias() to get an untagged tensor on the same storage";

TEST(ObjectSlot, E14_TheTagIsSetOnceAndNeverChanges) {
  Interpreter* const a = FakeA::create();
  Interpreter* const b = FakeB::create();
  ObjectSlot slot;
  EXPECT_EQ(slot.tag(), nullptr);
  slot.claim(a);
  EXPECT_EQ(slot.tag(), a);
  slot.claim(a);
  EXPECT_EQ(slot.tag(), a);
  EXPECT_THROWN(slot.claim(b), InterpreterGone, kAInB);
  EXPECT_EQ(slot.tag(), a);
  a->disarm();
  EXPECT_THROWN(slot.claim(b), InterpreterGone,
                "this object belongs to interpreter <unloaded interpreter> and cannot be used in "
                "interpreter B; pass t.alias() to get an untagged tensor on the same storage");
  EXPECT_EQ(slot.tag(), a) << "not even when its interpreter is gone";
}

TEST(ObjectSlot, E15_ClaimingFromEachState) {
  Interpreter* const a = FakeA::create();
  Interpreter* const b = FakeB::create();
  ObjectSlot slot;
  EXPECT_EQ(slot.status(a), SlotStatus::Untagged);
  slot.claim(a);
  EXPECT_EQ(slot.status(a), SlotStatus::TaggedByUs);
  EXPECT_NO_THROW(slot.claim(a)) << "ours already";
  EXPECT_EQ(slot.status(b), SlotStatus::TaggedByOther);
  EXPECT_THROWN(slot.claim(b), InterpreterGone, kAInB);
}

TEST(ObjectSlot, E16_ReadingTheObjectChecksTheTag) {
  Interpreter* const a = FakeA::create();
  Interpreter* const b = FakeB::create();
  int object = 0;
  ObjectSlot slot;
  EXPECT_EQ(slot.object(a), nullptr) << "untagged";
  slot.claim(a);
  EXPECT_EQ(slot.object(a), nullptr) << "ours, without an object at present";
  slot.set_object_with_lock_held(&object);
  EXPECT_EQ(slot.object(a), &object);
  EXPECT_THROWN(slot.object(b), InterpreterGone, kAInB);
  slot.set_object_with_lock_held(nullptr);
  EXPECT_THROWN(slot.object(b), InterpreterGone, kAInB);
}

// Half of the threads claim for A, half for B, all at once. The winner's threads see the claim
// as theirs, all others get the error.
TEST(ObjectSlot, E17_OfRacingInterpretersExactlyOneWins) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  Interpreter* const tags[] = {FakeA::create(), FakeB::create()};
  std::vector<ObjectSlot> slots(kRounds);
  std::vector<std::atomic<int>> won(kRounds * 2);
  std::vector<std::atomic<int>> lost(kRounds * 2);
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, side = i % 2] {
      start.arrive_and_wait();
      for (int round = 0; round < kRounds; ++round) {
        try {
          slots[round].claim(tags[side]);
          won[2 * round + side].fetch_add(1);
        } catch (const Error& error) {
          if (error.kind() == ErrorKind::InterpreterGone) lost[2 * round + side].fetch_add(1);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int round = 0; round < kRounds; ++round) {
    const int winner = slots[round].tag() == tags[0] ? 0 : 1;
    ASSERT_EQ(slots[round].tag(), tags[winner]);
    ASSERT_EQ(won[2 * round + winner], kThreads / 2);
    ASSERT_EQ(lost[2 * round + winner], 0);
    ASSERT_EQ(won[2 * round + 1 - winner], 0);
    ASSERT_EQ(lost[2 * round + 1 - winner], kThreads / 2);
  }
}

// A reader may look at an object while its first owner tags it and writes to it.
TEST(ObjectSlot, E17_AnotherInterpreterMayLookWhileAnObjectIsTagged) {
  Interpreter* const a = FakeA::create();
  Interpreter* const b = FakeB::create();
  std::vector<ObjectSlot> slots(2000);
  int object = 0;
  std::barrier start(2);
  std::thread writer([&] {
    start.arrive_and_wait();
    for (ObjectSlot& slot : slots) {
      slot.claim(a);
      slot.set_object_with_lock_held(&object);
    }
  });
  start.arrive_and_wait();
  int foreign = 0;
  for (const ObjectSlot& slot : slots) {
    try {
      foreign += slot.object(b) != nullptr ? 1 : 0;
    } catch (const Error&) {
      // tagged by now
    }
  }
  writer.join();
  EXPECT_EQ(foreign, 0) << "an object of A was seen from B";
}

}  // namespace
}  // namespace opyard
