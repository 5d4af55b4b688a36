// test_concurrency_weak.cpp: watchers and last owners on different threads; also under the thread sanitizer.
// Suspect dispatcher/src/base/weak.cpp and weak_table.h.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "opyard/base/weak.h"

namespace opyard::test_concurrency_weak {
namespace {

struct Thing final : Counted {
  explicit Thing(std::atomic<int>* alive) : alive(alive) { ++*alive; }
  ~Thing() override { --*alive; }
  std::atomic<int>* const alive;
  int content = 7;
};

TEST(ConcurrencyWeak, AWatcherSeesAnObjectWholeOrNotAtAll) {
  std::atomic<int> alive{0};
  for (int round = 0; round < 200; ++round) {
    auto thing = make_counted<Thing>(&alive);
    const WeakPtr<Thing> weak(thing);
    std::atomic<bool> begun{false};
    std::vector<std::thread> watchers;
    for (int i = 0; i < 2; ++i) {
      watchers.emplace_back([&] {
        begun = true;
        for (int k = 0; k < 100; ++k) {
          const WeakPtr<Thing> copy = weak;
          const CountedPtr<Thing> locked = copy.lock();
          if (!locked) continue;
          EXPECT_EQ(locked->content, 7);
          const WeakPtr<Thing> again(locked);
          EXPECT_EQ(again.lock(), locked);
        }
      });
    }
    while (!begun) std::this_thread::yield();
    thing.reset();
    for (std::thread& watcher : watchers) watcher.join();
    EXPECT_TRUE(weak.expired());
    EXPECT_EQ(alive, 0);
  }
}

}  // namespace
}  // namespace opyard::test_concurrency_weak
