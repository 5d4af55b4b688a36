// test_concurrency_future.cpp: producers, waiters, adders and cancellers of one future on different
// threads; also under the thread sanitizer. Suspect dispatcher/src/value/future.cpp.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

#include "opyard/value/future_collect.h"

namespace opyard::test_concurrency_future {
namespace {

constexpr int kRounds = 300;

// Runs each body on a thread of its own, all at once.
template <typename... Body>
void at_once(Body&&... body) {
  std::latch start(sizeof...(body));
  std::vector<std::thread> threads;
  (threads.emplace_back([&] {
    start.arrive_and_wait();
    body();
  }),
   ...);
  for (std::thread& thread : threads) thread.join();
}

TEST(ConcurrencyFuture, K5_WaitersSeeTheWholeValue) {
  for (int round = 0; round < kRounds; ++round) {
    auto future = make_counted<FutureObject>();
    const auto wait = [&] {
      const CountedPtr<FutureObject> own = future;
      EXPECT_EQ(own->wait().to_list().size(), 2u);
    };
    at_once(wait, wait, [&] { future->set_value(Value::list({Value(1), Value("two")})); });
  }
}

// The value comes while the other thread is on its way to sleep: a wake-up that is lost there
// leaves it asleep for ever.
TEST(ConcurrencyFuture, K5_AWaiterThatIsAboutToSleepIsWoken) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr int kFutures = 2000;
#else
  constexpr int kFutures = 50000;
#endif
  std::vector<CountedPtr<FutureObject>> futures;
  for (int i = 0; i < kFutures; ++i) futures.push_back(make_counted<FutureObject>());
  std::atomic<int> reached = -1;
  std::thread waiter([&] {
    for (int i = 0; i < kFutures; ++i) {
      reached = i;
      EXPECT_EQ(futures[std::size_t(i)]->wait().to_int(), i);
    }
  });
  for (int i = 0; i < kFutures; ++i) {
    while (reached.load() < i) std::this_thread::yield();
    for (volatile int delay = i % 256; delay > 0;) delay = delay - 1;
    futures[std::size_t(i)]->set_value(i);
  }
  waiter.join();
}

TEST(ConcurrencyFuture, K6_OneOfManyCompletesIt) {
  for (int round = 0; round < kRounds; ++round) {
    const auto future = make_counted<FutureObject>();
    std::atomic<int> completed{0};
    std::atomic<int> called{0};
    future->add_callback([&](FutureObject&) { ++called; });
    at_once([&] { completed += future->set_value_if_needed(1); },
            [&] { completed += future->cancel(); },
            [&] {
              completed +=
                  future->set_error_if_needed(std::make_exception_ptr(std::out_of_range("far")));
            },
            [&] { future->wait_until_completed(std::nullopt); });
    EXPECT_EQ(completed, 1);
    EXPECT_EQ(called, 1);
    static_cast<void>(future->error_message());
  }
}

TEST(ConcurrencyFuture, K7_EachCallbackRunsOnceWheneverItWasAdded) {
  for (int round = 0; round < kRounds; ++round) {
    const auto future = make_counted<FutureObject>();
    std::atomic<int> called{0};
    const auto add = [&] {
      for (int i = 0; i < 5; ++i) {
        future->add_callback([&](FutureObject& done) {
          EXPECT_EQ(done.value(), Value(7));
          ++called;
        });
      }
      EXPECT_EQ(future->wait(), Value(7));
    };
    at_once(add, add, [&] { future->set_value(7); });
    EXPECT_EQ(called, 10);
  }
}

TEST(ConcurrencyFuture, K5_AWaiterThatLetsGoFirstHurtsNobody) {
  for (int round = 0; round < kRounds; ++round) {
    auto mine = make_counted<FutureObject>();
    auto theirs = mine;
    at_once(
        [&] {
          mine->wait();
          mine.reset();
        },
        [&] {
          theirs->set_value(1);
          theirs.reset();
        });
  }
}

TEST(ConcurrencyFuture, K11_CollectingWhileTheyAreCompleted) {
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<CountedPtr<FutureObject>> futures = {
        make_counted<FutureObject>(), make_counted<FutureObject>(), make_counted<FutureObject>()};
    CountedPtr<FutureObject> all, any;
    at_once([&] { futures[0]->set_value(0); },
            [&] {
              futures[1]->set_value(1);
              futures[2]->set_value(2);
            },
            [&] {
              all = collect_all(futures);
              any = collect_any(futures);
            });
    EXPECT_EQ(all->wait().to_list().size(), 3u);
    EXPECT_TRUE(any->wait().is_int());
  }
}

// Looking into a long value takes long, and the other threads come meanwhile.
TEST(ConcurrencyFuture, K5_OneOfSeveralValuesIsTaken) {
  const Value large = Value::list(std::vector<Value>(20'000, Value::list({Value(1)})));
  for (int round = 0; round < 30; ++round) {
    auto future = make_counted<FutureObject>();
    std::atomic<int> taken = 0;
    const auto set = [&] { taken += future->set_value_if_needed(large) ? 1 : 0; };
    at_once(set, set, set);
    EXPECT_EQ(taken, 1);
  }
}

}  // namespace
}  // namespace opyard::test_concurrency_future
