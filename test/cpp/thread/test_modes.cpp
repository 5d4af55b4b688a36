// test_modes.cpp: protects the stack of modes of a thread, and its effect on the include set.
// Suspect dispatcher/src/thread/modes.cpp.
#include "opyard/thread/modes.h"

#include <gtest/gtest.h>

#include <thread>

#include "../fake_interpreter.h"
#include "../thrown_by.h"

namespace opyard::test_modes {
namespace {

constexpr DispatchKey kKey = DispatchKey::Python;

bool included() { return local_keys().include.has(kKey); }

// Modes are told apart by the address of their object.
char objects[8];
ModePtr mode(int number, ModePlace place = ModePlace::User) {
  static Interpreter* const tag = FakeA::create();
  return make_counted<Mode>(InterpreterObject::steal(tag, &objects[number]), place);
}
std::string order() {
  std::string numbers;
  for (const ModePtr& each : thread_modes()) {
    numbers += char('0' + (static_cast<char*>(each->handler().address()) - objects));
  }
  return numbers;
}

class Modes : public testing::Test {
 protected:
  ~Modes() override {
    EXPECT_EQ(order(), "");
    EXPECT_FALSE(included());
  }
};

TEST_F(Modes, F48_TheKeyIsIncludedWhileThereIsOne) {
  EXPECT_FALSE(included());
  push_mode(mode(1));
  push_mode(mode(2));
  EXPECT_TRUE(included());
  pop_mode();
  EXPECT_TRUE(included());
  pop_mode();
  EXPECT_FALSE(included());
}

TEST_F(Modes, F48_AKeyThatAGuardIncludedStays) {
  const IncludeDispatchKeyGuard guard{DispatchKeySet(kKey)};
  push_mode(mode(1));
  pop_mode();
  EXPECT_TRUE(included());
}

TEST_F(Modes, F48_HiddenModesComeBackInOrder) {
  for (const int number : {1, 2, 3}) push_mode(mode(number));
  {
    const HideModes last(2);
    EXPECT_EQ(order(), "12");
    {
      const HideModes all(0);
      EXPECT_EQ(order(), "");
      EXPECT_FALSE(included());
      push_mode(mode(4));
      {
        const HideModes inside(0);
        EXPECT_FALSE(included());
      }
      EXPECT_EQ(order(), "4");
      pop_mode();
    }
    EXPECT_EQ(order(), "12");
    EXPECT_TRUE(included());
    const HideModes none(2);
    EXPECT_EQ(order(), "12");
  }
  EXPECT_EQ(order(), "123");
  exchange_modes({});
}

TEST_F(Modes, F48_ModesLeftBehindByAHandlerLieOutside) {
  push_mode(mode(1));
  {
    const HideModes hide(0);
    for (const int number : {2, 3, 4, 5, 6}) push_mode(mode(number));
  }
  EXPECT_EQ(order(), "234561");
  exchange_modes({});
}

TEST_F(Modes, F50_PopOfAnEmptyStackIsAnError) {
  EXPECT_THROWN(pop_mode(), BadRegistration, "Trying to pop empty mode stack");
}

TEST_F(Modes, F51_FixedPlacesHoldOneEachBelowTheUsers) {
  push_mode(mode(5));
  push_mode(mode(3, ModePlace::Functional));
  push_mode(mode(1, ModePlace::Fake));
  push_mode(mode(2, ModePlace::Proxy));
  push_mode(mode(6));
  EXPECT_EQ(order(), "12356");
  for (const ModePlace place : {ModePlace::Fake, ModePlace::Proxy, ModePlace::Functional}) {
    EXPECT_EQ(thrown_by([&] { push_mode(mode(7, place)); }).kind, ErrorKind::BadRegistration);
  }
  EXPECT_EQ(order(), "12356");
  exchange_modes({});
}

TEST_F(Modes, F53_ThreadsStartWithoutModesAndLetTheirsGo) {
  push_mode(mode(1));
  const int before = FakeA::decrefs;
  std::thread([] {
    EXPECT_EQ(order(), "");
    EXPECT_FALSE(included());
    push_mode(mode(2));
  }).join();
  EXPECT_EQ(FakeA::decrefs, before + 1);
  EXPECT_EQ(order(), "1");
  pop_mode();
}

TEST_F(Modes, ExchangingGivesTheFormerOnes) {
  push_mode(mode(1));
  std::vector<ModePtr> former = exchange_modes({mode(2), mode(3)});
  EXPECT_EQ(order(), "23");
  exchange_modes(std::move(former));
  EXPECT_EQ(order(), "1");
  EXPECT_TRUE(included());
  remove_mode(0);
}

}  // namespace
}  // namespace opyard::test_modes
