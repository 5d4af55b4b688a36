// test_concurrency_pool.cpp: many threads that loop, start, wait, cancel and change the size at once; also
// under the thread sanitizer. Suspect dispatcher/src/pool/pool.cpp.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "../on_threads.h"
#include "opyard/parallel.h"

namespace opyard::test_concurrency_pool {
namespace {

constexpr int kRounds = rounds(2000);

std::int64_t sum_in_parallel(std::int64_t count) {
  std::vector<std::int64_t> parts(std::size_t(count), 0);
  parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) parts[std::size_t(i)] = i;
  });
  std::int64_t sum = 0;
  for (const std::int64_t part : parts) sum += part;  // plain: the loop orders memory
  return sum;
}

TEST(ConcurrencyPool, EverythingAtOnce) {
  const int former = thread_count();
  set_thread_count(3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < kRounds; ++i) {
        switch ((i + t) % 5) {
          case 0:
            EXPECT_EQ(sum_in_parallel(50), 1225);
            break;
          case 1: {
            std::int64_t plain = 0;  // the future orders memory, too
            start_task([&] { plain = 4; }).wait();
            EXPECT_EQ(plain, 4);
            break;
          }
          case 2: {
            const auto outer =
                start_task([] { return start_task([] { return sum_in_parallel(20); }).wait(); });
            EXPECT_EQ(outer.wait(), 190);
            break;
          }
          case 3:
            start_task([] { return std::int64_t{1}; }).cancel();
            break;
          default:
            if (i % 20 == 4) set_thread_count(1 + i / 20 % 4);
            EXPECT_THROW(start_task([] { fail(ErrorKind::BadValue, "x"); }).wait(), Error);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  set_thread_count(former);
}

// One future that several wait for: one of them runs it, the others see what it wrote.
TEST(ConcurrencyPool, OneTaskWithManyWaiters) {
  for (int round = 0; round < kRounds / 4; ++round) {
    std::int64_t plain = 0;
    const auto task = start_task([&] {
      plain += 1;
      return plain;
    });
    std::vector<std::thread> waiters;
    for (int i = 0; i < 3; ++i) waiters.emplace_back([&] { EXPECT_EQ(task.wait(), 1); });
    for (std::thread& waiter : waiters) waiter.join();
    EXPECT_EQ(plain, 1);
  }
}

}  // namespace
}  // namespace opyard::test_concurrency_pool
