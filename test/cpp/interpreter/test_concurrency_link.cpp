// test_concurrency_link.cpp: protects tags and objects where threads meet; runs under the thread
// sanitizer, too. Suspect dispatcher/src/interpreter/object_link.cpp.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <mutex>
#include <thread>
#include <vector>

#include "../fake_interpreter.h"
#include "opyard/tensor.h"

namespace opyard::test_concurrency_link {
namespace {

// Half of the threads put their object into a slot for A, half for B, all at once. Those of the
// winner see the slot as theirs, all others get the error and write nothing.
TEST(ObjectLink, E17_OfRacingInterpretersExactlyOneWins) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  Interpreter* const tags[] = {FakeA::create(), FakeB::create()};
  std::mutex locks[2];
  int objects[2] = {};
  std::vector<ObjectLink> slots(kRounds);
  std::vector<std::atomic<int>> won(kRounds * 2);
  std::vector<std::atomic<int>> lost(kRounds * 2);
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, side = i % 2] {
      start.arrive_and_wait();
      for (int round = 0; round < kRounds; ++round) {
        try {
          // Between the threads of one interpreter its lock decides who writes.
          const std::scoped_lock lock(locks[side]);
          slots[round].init(tags[side], &objects[side], slots[round].status(tags[side]));
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
    ASSERT_EQ(slots[round].object(tags[winner]), &objects[winner]);
    ASSERT_EQ(won[2 * round + winner], kThreads / 2);
    ASSERT_EQ(lost[2 * round + winner], 0);
    ASSERT_EQ(won[2 * round + 1 - winner], 0);
    ASSERT_EQ(lost[2 * round + 1 - winner], kThreads / 2);
  }
}

// A reader may look at an object while its first owner tags it and writes to it.
TEST(ObjectLink, E17_AnotherInterpreterMayLookWhileAnObjectIsTagged) {
  Interpreter* const a = FakeA::create();
  Interpreter* const b = FakeB::create();
  std::vector<ObjectLink> slots(2000);
  int object = 0;
  std::barrier start(2);
  std::thread writer([&] {
    start.arrive_and_wait();
    for (ObjectLink& slot : slots) {
      slot.claim(a);
      slot.set_object_with_lock_held(&object);
    }
  });
  start.arrive_and_wait();
  int foreign = 0;
  for (const ObjectLink& slot : slots) {
    try {
      foreign += slot.object(b) != nullptr ? 1 : 0;
    } catch (const Error&) {
      // tagged by now
    }
  }
  writer.join();
  EXPECT_EQ(foreign, 0) << "an object of A was seen from B";
}

TEST(Interpreter, E18_DisarmingWhileOtherThreadsLetObjectsGo) {
  Interpreter* const a = FakeA::create();
  std::atomic<bool> stop{false};
  std::atomic<int> calls{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        a->decref(nullptr, false);
        calls.fetch_add(1);
      }
    });
  }
  while (calls < 1000) std::this_thread::yield();
  a->disarm();
  const int so_far = calls;
  while (calls < so_far + 1000) std::this_thread::yield();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const int after = FakeA::decrefs;
  a->decref(nullptr, false);
  EXPECT_EQ(FakeA::decrefs, after);
}

TEST(Tensor, E18_TensorsMayDieWhileTheirInterpreterIsDisarmed) {
  constexpr int kThreads = 3;
  Interpreter* const a = FakeA::create();
  const int before = FakeA::decrefs;
  int object = 0;
  std::atomic<int> made{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        TensorImpl* left = nullptr;
        {
          const Tensor tensor = Tensor::empty({});
          left = tensor.impl().get();
          left->object_link().claim(a);
          left->object_link().set_object_with_lock_held(&object);
          left->object_link().set_owns_object_with_lock_held(true);
        }
        bool was_left = false;
        left->return_to_object_with_lock_held(was_left);  // its object buries it
        made.fetch_add(1);
      }
    });
  }
  while (made < 300) std::this_thread::yield();
  a->disarm();
  const int so_far = made.fetch_add(0);  // a load could be earlier than others see the disarming
  while (made < so_far + 300) std::this_thread::yield();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const int given_back = FakeA::decrefs - before;
  EXPECT_GT(given_back, 0);
  EXPECT_LE(given_back, so_far + kThreads) << "of the tensors made later, none was given back";
}

}  // namespace
}  // namespace opyard::test_concurrency_link
