// test_interpreter_object.cpp: protects references to an interpreter's objects from other interpreters,
// and from being given back twice or never.
// Suspect dispatcher/src/interpreter/interpreter_object.cpp.
#include "opyard/interpreter/interpreter_object.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "../fake_interpreter.h"
#include "../thrown_by.h"

namespace opyard::test_interpreter_object {
namespace {

constexpr const char* kAInB = "an object of interpreter A cannot be used in interpreter B";

struct Thing {
  int number = 7;
};

TEST(InterpreterObject, E19_GivesTheObjectToItsOwnInterpreterAlone) {
  Interpreter* const a = FakeA::create();
  Interpreter* const b = FakeB::create();
  Thing thing;
  const int before = FakeA::decrefs;
  {
    const InterpreterObject owner = InterpreterObject::steal(a, &thing);
    EXPECT_EQ(owner.object(a), &thing);
    EXPECT_EQ(owner.tag(), a);
    EXPECT_THROWN(owner.object(b), InterpreterGone, kAInB);
    EXPECT_EQ(FakeA::decrefs, before);
  }
  EXPECT_EQ(FakeA::decrefs, before + 1) << "given back once";
}

TEST(InterpreterObject, E19_OwnersMoveAndAreShared) {
  static_assert(!std::is_copy_constructible_v<InterpreterObject>,
                "sharing may take a lock: say so");
  Interpreter* const a = FakeA::create();
  Thing thing;
  const int increfs = FakeA::increfs;
  const int decrefs = FakeA::decrefs;
  {
    InterpreterObject first = InterpreterObject::steal(a, &thing);
    InterpreterObject moved = std::move(first);
    EXPECT_FALSE(first);
    EXPECT_EQ(FakeA::increfs, increfs);
    const InterpreterObject second = moved.share();
    EXPECT_EQ(FakeA::increfs, increfs + 1);
    EXPECT_EQ(second.object(a), &thing);
    moved = InterpreterObject();
    EXPECT_EQ(FakeA::decrefs, decrefs + 1);
  }
  EXPECT_EQ(FakeA::decrefs, decrefs + 2);
  InterpreterObject last = InterpreterObject::steal(a, &thing);
  EXPECT_EQ(last.release(), &thing);
  EXPECT_FALSE(last);
  EXPECT_EQ(FakeA::decrefs, decrefs + 2) << "the caller has it now";
}

TEST(InterpreterObject, E19_AHandleOwnsNothing) {
  Interpreter* const a = FakeA::create();
  Interpreter* const b = FakeB::create();
  Thing thing;
  const int increfs = FakeA::increfs;
  const int decrefs = FakeA::decrefs;
  {
    const InterpreterHandle handle(a, &thing);
    const InterpreterHandle copy = handle;
    EXPECT_EQ(copy.object(a), &thing);
    EXPECT_EQ(copy.address(), &thing);
    EXPECT_THROWN(copy.object(b), InterpreterGone, kAInB);
    EXPECT_EQ(InterpreterHandle().object(a), nullptr);
  }
  EXPECT_EQ(FakeA::increfs, increfs);
  EXPECT_EQ(FakeA::decrefs, decrefs);
}

TEST(InterpreterObject, E19_ATypedOwnerGivesItsType) {
  Interpreter* const a = FakeA::create();
  Interpreter* const b = FakeB::create();
  Thing thing;
  const int decrefs = FakeA::decrefs;
  {
    const auto owner = InterpreterObjectOf<Thing>::steal(a, &thing);
    EXPECT_EQ(owner.object(a)->number, 7);
    EXPECT_THROWN(owner.object(b), InterpreterGone, kAInB);
    EXPECT_EQ(owner.share().object(a), &thing);
  }
  EXPECT_EQ(FakeA::decrefs, decrefs + 2);
}

TEST(InterpreterObject, E13_AnOwnerMayOutliveItsInterpreter) {
  Interpreter* const a = FakeA::create();
  Interpreter* const b = FakeB::create();
  Thing thing;
  const int decrefs = FakeA::decrefs;
  {
    const InterpreterObject owner = InterpreterObject::steal(a, &thing);
    a->disarm();
    EXPECT_THROWN(
        owner.object(b), InterpreterGone,
        "an object of interpreter <unloaded interpreter> cannot be used in interpreter B");
  }
  EXPECT_EQ(FakeA::decrefs, decrefs) << "left to the interpreter that has ended";
}

}  // namespace
}  // namespace opyard::test_interpreter_object
