// test_mutex.cpp: protects the order of the locks, and that the child of a fork finds none held.
// Suspect dispatcher/src/base/mutex.cpp.
#include "opyard/detail/base/mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "../thrown_by.h"

namespace opyard::test_mutex {
namespace {

// The locks of libopyard are registered by rank; these take the places of two that no code of
// this program uses.
Mutex& low() {
  static auto* const mutex = new Mutex(LockRank::LinkedLibraries);
  return *mutex;
}
int children = 0;
Mutex& high() {
  static auto* const mutex = new Mutex(LockRank::MappedFiles, [] { ++children; });
  return *mutex;
}

TEST(Mutex, IsALock) {
  int total = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 10000; ++k) {
        const std::lock_guard lock(low());
        ++total;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(total, 40000);
}

#ifdef NDEBUG
constexpr bool kAssertions = false;
#else
constexpr bool kAssertions = true;
#endif

TEST(Mutex, TakingALowerRankIsADefect) {
  if (!kAssertions) GTEST_SKIP() << "this build has no assertions";
  const std::lock_guard first(high());
  const Thrown thrown = thrown_by([] { low().lock(); });
  EXPECT_EQ(thrown.kind, ErrorKind::Internal);
  EXPECT_NE(thrown.text.find("does not hold. This is a defect of Opyard"), std::string::npos);
  EXPECT_EQ(thrown_by([] { high().lock(); }).kind, ErrorKind::Internal) << "nor the same again";
}

TEST(Mutex, HoldingOneWhereNoneMayBeHeldIsADefect) {
  if (!kAssertions) GTEST_SKIP() << "this build has no assertions";
  assert_no_lock_held();
  {
    const std::lock_guard first(low());
    const std::lock_guard second(high());
    EXPECT_EQ(thrown_by([] { assert_no_lock_held(); }).kind, ErrorKind::Internal);
  }
  assert_no_lock_held();
}

TEST(Mutex, TheChildOfAForkFindsItFreeWhoeverHeldIt) {
  std::atomic<bool> stop{false};
  high();
  std::thread busy([&] {
    while (!stop) {
      const std::lock_guard first(low());
      const std::lock_guard second(high());
    }
  });
  for (int round = 0; round < 200; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      const std::lock_guard first(low());
      const std::lock_guard second(high());
      _exit(children == 1 ? 7 : 8);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "fork " << round;
    ASSERT_EQ(WEXITSTATUS(status), 7) << "its handler ran once";
  }
  stop = true;
  busy.join();
  EXPECT_EQ(children, 0) << "the parent's handler does not run";
}

}  // namespace
}  // namespace opyard::test_mutex
