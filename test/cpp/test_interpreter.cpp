// test_interpreter.cpp: protects calls into an interpreter that ends, or has ended.
#include "opyard/slot/interpreter.h"

#include <gtest/gtest.h>

#include <memory>

#include "fake_interpreter.h"

namespace opyard {
namespace {

TEST(Interpreter, AnArmedTagLeadsToItsOwnTable) {
  Interpreter* const a = FakeA::create();
  Interpreter* const b = FakeB::create();
  EXPECT_STREQ((*a)->name(), "A");
  EXPECT_STREQ((**b).name(), "B");
  EXPECT_TRUE(a->armed());
  const int before = FakeA::increfs;
  (*a)->incref(nullptr);
  EXPECT_EQ(FakeA::increfs, before + 1);
}

TEST(Interpreter, E12_DisarmedHousekeepingDoesNothing) {
  Interpreter* const a = FakeA::create();
  a->disarm();
  const int increfs = FakeA::increfs;
  const int decrefs = FakeA::decrefs;
  (*a)->incref(nullptr);
  (*a)->decref(nullptr);
  EXPECT_EQ(FakeA::increfs, increfs);
  EXPECT_EQ(FakeA::decrefs, decrefs);
  EXPECT_STREQ((*a)->name(), "<unloaded interpreter>");
}

TEST(Interpreter, E12_EverySlotHasADisarmedForm) {
#define OPYARD_INTERPRETER_SLOT(name, result, parameters, arguments, disarmed) \
  EXPECT_NE(disarmed_vtable().name, nullptr) << #name;
#include "opyard/slot/interpreter_slots.def"
#undef OPYARD_INTERPRETER_SLOT
}

TEST(Interpreter, E13_TheTagOutlivesTheTableThatItsPluginBrought) {
  auto table = std::make_unique<InterpreterVTable>(FakeA::vtable());
  Interpreter* const tag = Interpreter::create(table.get());
  EXPECT_STREQ((*tag)->name(), "A");
  tag->disarm();
  table.reset();  // the plugin's memory is gone
  EXPECT_FALSE(tag->armed());
  EXPECT_STREQ((*tag)->name(), "<unloaded interpreter>");
  tag->disarm();
  EXPECT_FALSE(tag->armed()) << "disarming twice is the same as once";
}

}  // namespace
}  // namespace opyard
