// test_fork.cpp: protects the child of a fork: it can register, unregister and call at once, and
// no lock is inherited held.
// Suspect dispatcher/src/base/mutex.cpp and dispatcher/src/registry/registry.cpp.
//
// A child that hangs is ended by an alarm, and the test fails.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <thread>

#include "../in_child.h"
#include "../registering.h"
#include "opyard/inspect/inspect.h"
#include "opyard/plugin/plugin.h"

namespace opyard::test_fork {
namespace {

using K = DispatchKey;
using Unary = Tensor(const Tensor&);

// The address sanitizer of GCC 12 leaves the locks of its allocator as they were: a child that is
// forked while a thread allocates would hang in there. So with it the busy threads stand still
// during a fork.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kStandStill = true;
#else
constexpr bool kStandStill = false;
#endif

// Defines, registers, calls, overrides and unregisters. 0 if all of it worked.
int use_everything() {
  Registration op = define("t::child(Tensor x) -> Tensor");
  const Registration cpu = implement("t::child", K::CPU, echo("cpu"));
  if (who_ran("t::child", {K::CPU}) != "cpu") return 1;
  registry().implement({"t::child", ""}, K::CPU, echo("over"), "", nullptr, true).undo();
  if (who_ran("t::child", {K::CPU}) != "cpu") return 2;
  std::string ran;
  std::thread([&] { ran = who_ran("t::child", {K::CPU}); }).join();
  if (ran != "cpu") return 3;
  op.undo();
  inspect::check_invariants();
  registry().reclaim();
  if (!loaded_libraries().empty()) return 4;
  return inspect::retired_count() == 0 ? 0 : 5;
}

TEST(Fork, TheChildCanUseTheRegistryAtOnce) {
  EXPECT_EQ(in_child(use_everything), 0);
  EXPECT_EQ(use_everything(), 0) << "and the parent, after it";
  EXPECT_EQ(in_child(use_everything), 0);
}

TEST(Fork, AThreadThatNeverCalledMayFork) {
  int answer = -1;
  std::thread([&] { answer = in_child(use_everything); }).join();
  EXPECT_EQ(answer, 0);
}

TEST(Fork, TheChildDoesNotWaitForThreadsThatAreNotThere) {
  static std::atomic<bool> inside;
  static std::atomic<bool> open;
  inside = open = false;
  const Registration op = define("t::blocks(Tensor x) -> Tensor");
  Registration kernel = implement("t::blocks", K::CPU, Kernel::from([](const Tensor& x) -> Tensor {
                                    inside = true;
                                    inside.notify_all();
                                    open.wait(false);
                                    return x;
                                  }));
  std::thread caller([] { who_ran("t::blocks", {K::CPU}); });
  inside.wait(false);
  kernel.undo();
  EXPECT_EQ(inspect::retired_count(), 1u);
  EXPECT_EQ(in_child([] {
              registry().reclaim();
              return inspect::retired_count() == 0 ? use_everything() : 10;
            }),
            0);
  EXPECT_EQ(inspect::retired_count(), 1u) << "in the parent the call goes on";
  open = true;
  open.notify_all();
  caller.join();
  registry().reclaim();
  EXPECT_EQ(inspect::retired_count(), 0u);
}

TEST(Fork, AKernelMayFork) {
  const Registration op = define("t::forks(Tensor x) -> Tensor");
  static int answer;
  Registration kernel = implement("t::forks", K::CPU, Kernel::from([](const Tensor& x) -> Tensor {
                                    answer = in_child([] {
                                      const int used = use_everything();
                                      return used == 5 ? 0 : used;  // this call is still inside
                                    });
                                    return x;
                                  }));
  who_ran("t::forks", {K::CPU});
  EXPECT_EQ(answer, 0);
}

// The locks of the registry and of the reclaimer are both taken by writers, and by fork().
TEST(Fork, AmongBusyThreads) {
  std::atomic<bool> stop = false;
  std::mutex forking;
  const auto pause = [&] {
    return kStandStill ? std::unique_lock(forking) : std::unique_lock<std::mutex>();
  };
  std::latch started(4);  // a thread that is just starting allocates, too
  std::vector<std::thread> busy;
  alarm(5 * kLongestChild);  // a deadlock would be in this process
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back([&, i] {
      const std::string name = "t::busy" + std::to_string(i);
      const Registration op = define(name + "(Tensor x) -> Tensor");
      started.arrive_and_wait();
      while (!stop) {
        if (kStandStill) std::this_thread::yield();
        const auto stand_still = pause();
        const Registration kernel = implement(name, K::CPU, echo("busy"));
        EXPECT_EQ(who_ran(name, {K::CPU}), "busy");
      }
    });
  }
  started.arrive_and_wait();
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    const auto stand_still = pause();
    EXPECT_EQ(in_child(use_everything), 0) << "fork " << i;
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
  alarm(0);
  registry().reclaim();
  EXPECT_EQ(inspect::retired_count(), 0u);
}

}  // namespace
}  // namespace opyard::test_fork
