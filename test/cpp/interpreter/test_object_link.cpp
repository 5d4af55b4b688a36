// test_object_link.cpp: protects that an object belongs to one interpreter while that lives.
// Suspect dispatcher/src/interpreter/object_link.cpp.
#include "opyard/detail/interpreter/object_link.h"

#include <gtest/gtest.h>

#include "../fake_interpreter.h"
#include "../thrown_by.h"

namespace opyard::test_object_link {
namespace {

constexpr const char* kAInB =
    "this object belongs to interpreter A and cannot be used in interpreter B; "
    "pass t.alias() to get an untagged tensor on the same storage";

TEST(ObjectLink, E14_TheTagIsSetOnceAndStaysWhileItsInterpreterLives) {
  Interpreter* const a = FakeA::create();
  Interpreter* const b = FakeB::create();
  ObjectLink slot;
  EXPECT_EQ(slot.tag(), nullptr);
  slot.claim(a);
  EXPECT_EQ(slot.tag(), a);
  slot.claim(a);
  EXPECT_EQ(slot.tag(), a);
  EXPECT_THROWN(slot.claim(b), InterpreterGone, kAInB);
  EXPECT_EQ(slot.tag(), a);
}

TEST(ObjectLink, E28_ATagOfAnInterpreterThatHasEndedCountsAsNone) {
  Interpreter* const a = FakeA::create();
  Interpreter* const b = FakeB::create();
  int object = 0;
  ObjectLink slot;
  slot.init(a, &object, LinkStatus::MaybeUntagged);
  slot.set_owns_object_with_lock_held(true);
  EXPECT_TRUE(slot.holds(a, &object));
  a->disarm();
  EXPECT_EQ(slot.status(b), LinkStatus::MaybeUntagged);
  EXPECT_EQ(slot.object(b), nullptr);
  EXPECT_EQ(slot.find_object(b), std::nullopt);
  slot.claim(b);
  EXPECT_EQ(slot.tag(), b);
  EXPECT_EQ(slot.object(b), nullptr) << "what the first one had is not the second one's";
  EXPECT_FALSE(slot.owns_object());
  EXPECT_FALSE(slot.holds(a, &object));
}

TEST(ObjectLink, E15_TaggingFromEachOfFourStates) {
  Interpreter* const a = FakeA::create();
  Interpreter* const b = FakeB::create();
  int first = 0;
  int second = 0;

  ObjectLink fresh;
  fresh.init(a, &first, LinkStatus::DefinitelyUntagged);
  EXPECT_EQ(fresh.tag(), a);
  EXPECT_EQ(fresh.object(a), &first);

  ObjectLink slot;
  EXPECT_EQ(slot.status(a), LinkStatus::MaybeUntagged);
  slot.init(a, &first, LinkStatus::MaybeUntagged);
  EXPECT_EQ(slot.object(a), &first);
  slot.init(a, &second, LinkStatus::MaybeUntagged);
  EXPECT_EQ(slot.object(a), &second) << "tagged by us in the meantime";
  EXPECT_EQ(slot.status(a), LinkStatus::TaggedByUs);
  slot.init(a, &first, LinkStatus::TaggedByUs);
  EXPECT_EQ(slot.object(a), &first);

  EXPECT_EQ(slot.status(b), LinkStatus::TaggedByOther);
  EXPECT_THROWN(slot.init(b, &second, LinkStatus::TaggedByOther), InterpreterGone, kAInB);
  EXPECT_THROWN(slot.init(b, &second, LinkStatus::MaybeUntagged), InterpreterGone, kAInB);
  EXPECT_EQ(slot.tag(), a);
  EXPECT_EQ(slot.object(a), &first) << "who lost the race has written nothing";
}

TEST(ObjectLink, E15_ClaimingWithoutAnObject) {
  Interpreter* const a = FakeA::create();
  Interpreter* const b = FakeB::create();
  ObjectLink slot;
  slot.claim(a);
  EXPECT_EQ(slot.status(a), LinkStatus::TaggedByUs);
  EXPECT_NO_THROW(slot.claim(a)) << "ours already";
  EXPECT_THROWN(slot.claim(b), InterpreterGone, kAInB);
}

TEST(ObjectLink, E16_ReadingTheObjectChecksTheTag) {
  Interpreter* const a = FakeA::create();
  Interpreter* const b = FakeB::create();
  int object = 0;
  ObjectLink slot;
  EXPECT_EQ(slot.object(a), nullptr) << "untagged";
  EXPECT_EQ(slot.find_object(a), std::nullopt) << "untagged, or tagged at any moment";
  slot.claim(a);
  EXPECT_EQ(slot.find_object(a), std::optional<void*>(nullptr)) << "ours";
  EXPECT_EQ(slot.object(a), nullptr) << "ours, without an object at present";
  slot.set_object_with_lock_held(&object);
  EXPECT_EQ(slot.object(a), &object);
  EXPECT_EQ(slot.find_object(a), std::optional<void*>(&object));
  EXPECT_THROWN(slot.object(b), InterpreterGone, kAInB);
  EXPECT_THROWN(slot.find_object(b), InterpreterGone, kAInB);
  slot.set_object_with_lock_held(nullptr);
  EXPECT_THROWN(slot.object(b), InterpreterGone, kAInB);
}

}  // namespace
}  // namespace opyard::test_object_link
