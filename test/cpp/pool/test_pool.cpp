// test_pool.cpp: protects the process's pool: loops and tasks, the state that they take along, errors that come out of
// them, the child of a fork, and the end of the process.
// Suspect dispatcher/src/pool/pool.cpp and parallel_for.cpp.
//
// A child that hangs is ended by an alarm, and the test fails.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <limits>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

#include "../in_child.h"
#include "../thrown_by.h"
#include "opyard/c_api.h"
#include "opyard/keys/gradient_mode.h"
#include "opyard/keys/local.h"
#include "opyard/parallel.h"

namespace opyard::test_pool {
namespace {

using namespace std::chrono_literals;

struct Size {
  explicit Size(int count) : former(thread_count()) { set_thread_count(count); }
  ~Size() { set_thread_count(former); }
  const int former;
};

// Closed until someone opens it.
class Door {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

std::size_t threads_of_process() {
  DIR* const folder = opendir("/proc/self/task");
  std::size_t count = 0;
  while (const dirent* const entry = readdir(folder)) count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

// ---- Loops

TEST(ParallelFor, EveryIterationRunsOnceForAnyGrainAndSize) {
  for (const int size : {1, 2, 3, 8}) {
    const Size scope(size);
    for (const std::int64_t grain : {1, 3, 64, 1000, 5000}) {
      std::vector<std::atomic<int>> seen(1000);
      std::atomic<int> short_ranges = 0;
      parallel_for(0, 1000, grain, [&](std::int64_t begin, std::int64_t end) {
        if (end - begin < grain) ++short_ranges;
        for (std::int64_t i = begin; i < end; ++i) ++seen[std::size_t(i)];
      });
      for (const auto& count : seen) ASSERT_EQ(count, 1) << size << ' ' << grain;
      EXPECT_LE(short_ranges, 1) << "only the last range is shorter than the grain";
    }
  }
}

TEST(ParallelFor, EmptyAndExtremeBounds) {
  const Size scope(4);
  parallel_for(5, 5, 1, [](std::int64_t, std::int64_t) { FAIL(); });
  parallel_for(5, 4, 1, [](std::int64_t, std::int64_t) { FAIL(); });
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::uint64_t> covered = 0;
  parallel_for(kLeast, kMost, std::int64_t{1} << 60, [&](std::int64_t begin, std::int64_t end) {
    ASSERT_LT(begin, end);
    covered += std::uint64_t(end) - std::uint64_t(begin);
  });
  EXPECT_EQ(covered, ~std::uint64_t{0});
  EXPECT_THROWN((parallel_for(0, 9, 0, [](std::int64_t, std::int64_t) {})), BadValue,
                "the grain of a loop is at least 1");
}

TEST(ParallelFor, SeveralThreadsTakePart) {
  const Size scope(3);
  std::mutex mutex;
  std::condition_variable met;
  std::set<std::thread::id> threads;
  parallel_for(0, 12, 1, [&](std::int64_t, std::int64_t) {
    std::unique_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
    met.notify_all();
    met.wait_for(lock, 20s, [&] { return threads.size() == 3; });
  });
  EXPECT_EQ(threads.size(), 3u);
  EXPECT_TRUE(threads.contains(std::this_thread::get_id())) << "the caller is one of them";
}

TEST(ParallelFor, TheFirstExceptionComesOutAndWhatWasNotBegunIsLeftOut) {
  const Size scope(4);
  std::atomic<int> begun = 0;
  try {
    parallel_for(0, 1'000'000, 1, [&](std::int64_t begin, std::int64_t) {
      ++begun;
      throw std::out_of_range("at " + std::to_string(begin >= 0));
    });
    FAIL() << "nothing came out";
  } catch (const std::out_of_range& error) {
    EXPECT_STREQ(error.what(), "at 1");
  }
  EXPECT_LE(begun, 4) << "each thread stops behind its first";
  std::atomic<std::int64_t> sum = 0;
  parallel_for(0, 100, 1, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 100) << "and the pool goes on";
}

TEST(ParallelFor, ALoopInsideALoopStaysOnItsThread) {
  const Size scope(4);
  std::atomic<int> ranges = 0;
  parallel_for(0, 8, 1, [&](std::int64_t, std::int64_t) {
    const auto own = std::this_thread::get_id();
    parallel_for(0, 1000, 1, [&](std::int64_t begin, std::int64_t end) {
      EXPECT_EQ(std::this_thread::get_id(), own);
      EXPECT_EQ(begin, 0);
      EXPECT_EQ(end, 1000);
      ++ranges;
    });
  });
  EXPECT_EQ(ranges, 8);
}

TEST(ParallelFor, TheThreadsHaveTheCallersContext) {
  const Size scope(4);
  const ExcludeDispatchKeyGuard guard(DispatchKeySet(DispatchKey::CPU));
  const GradientMode former = gradient_mode();
  set_gradient_mode(GradientMode::NoGradients);
  std::atomic<int> wrong = 0;
  parallel_for(0, 64, 1, [&](std::int64_t, std::int64_t) {
    wrong += !local_keys().exclude.has(DispatchKey::CPU);
    wrong += gradient_mode() != GradientMode::NoGradients;
  });
  set_gradient_mode(former);
  EXPECT_EQ(wrong, 0);
}

// ---- Tasks

TEST(Task, GivesItsValueOrItsError) {
  const Size scope(2);
  EXPECT_EQ(start_task([] { return std::int64_t{42}; }).wait(), 42);
  EXPECT_TRUE(start_task([] {}).wait().is_none());
  const auto failed = start_task([]() -> double { fail(ErrorKind::BadShape, "no such shape"); });
  EXPECT_THROWN(failed.wait(), BadShape, "no such shape");
  EXPECT_THROW(start_task([]() -> double { throw std::out_of_range("other"); }).wait(),
               std::out_of_range);
}

TEST(Task, RunsAlthoughNobodyWaits) {
  const Size scope(1);
  Door ran;
  start_task([&] { ran.open(); });
  ran.pass();
}

TEST(Task, TasksMayWaitForTasksWhateverTheSize) {
  for (const int size : {1, 2}) {
    const Size scope(size);
    std::function<std::int64_t(int)> depth = [&](int left) -> std::int64_t {
      if (left == 0) return 0;
      return start_task([&, left] { return depth(left - 1); }).wait() + 1;
    };
    EXPECT_EQ(depth(400), 400);
    std::function<std::int64_t(int)> fibonacci = [&](int n) -> std::int64_t {
      if (n < 2) return n;
      const auto first = start_task([&, n] { return fibonacci(n - 1); });
      return fibonacci(n - 2) + first.wait();
    };
    EXPECT_EQ(fibonacci(14), 377);
  }
}

// A timed wait runs nothing itself: another thread takes the place of the one that sleeps.
TEST(Task, TimedWaitsInsideTasksLeaveTheirPlaceToOthers) {
  const Size scope(1);
  std::function<std::int64_t(int)> depth = [&](int left) -> std::int64_t {
    if (left == 0) return 0;
    return start_task([&, left] { return depth(left - 1); }).wait(60s) + 1;
  };
  EXPECT_EQ(start_task([&] { return depth(20); }).wait(60s), 20);
}

TEST(Task, AWaiterRunsATaskThatNobodyHasBegun) {
  const Size scope(1);
  Door door;
  Door busy;
  const auto blocker = start_task([&] {
    busy.open();
    door.pass();
  });
  busy.pass();
  const auto second = start_task([] { return std::this_thread::get_id() == std::thread::id(); });
  std::thread::id ran_on;
  const auto third = start_task([&] { ran_on = std::this_thread::get_id(); });
  third.wait();
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  EXPECT_FALSE(second.completed()) << "it runs no other";
  door.open();
  blocker.wait();
  EXPECT_FALSE(second.wait());
}

TEST(Task, HasTheContextOfWhoStartedIt) {
  const Size scope(2);
  LocalKeys inside;
  {
    const IncludeDispatchKeyGuard guard(DispatchKeySet(DispatchKey::Tracer));
    start_task([&] { inside = local_keys(); }).wait(60s);
  }
  EXPECT_TRUE(inside.include.has(DispatchKey::Tracer));
  start_task([&] { inside = local_keys(); }).wait(60s);
  EXPECT_FALSE(inside.include.has(DispatchKey::Tracer)) << "the thread has lost it again";
}

TEST(Task, WhatItHoldsIsDroppedBeforeItIsCompleted) {
  const Size scope(2);
  for (int i = 0; i < 200; ++i) {
    const auto held = std::make_shared<int>(7);
    const std::weak_ptr<int> watched = held;
    const auto future =
        start_task([held = std::shared_ptr<int>(held)] { return std::int64_t(*held); });
    const_cast<std::shared_ptr<int>&>(held).reset();
    EXPECT_EQ(future.wait(), 7);
    ASSERT_TRUE(watched.expired());
  }
}

TEST(Task, ACancelledOneIsNotRun) {
  const Size scope(1);
  Door door;
  Door busy;
  const auto blocker = start_task([&] {
    busy.open();
    door.pass();
  });
  busy.pass();
  bool ran = false;
  const auto cancelled = start_task([&] { ran = true; });
  EXPECT_TRUE(cancelled.cancel());
  const auto behind = start_task([] {});
  door.open();
  behind.wait(60s);
  EXPECT_FALSE(ran);
}

TEST(Task, LoopsAndTasksShareTheThreads) {
  const Size scope(2);
  std::vector<Future<std::int64_t>> sums;
  for (int i = 0; i < 100; ++i) {
    sums.push_back(start_task([] {
      std::atomic<std::int64_t> sum = 0;
      parallel_for(0, 1000, 10, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) sum += n;
      });
      return sum.load();
    }));
  }
  for (const auto& sum : sums) EXPECT_EQ(sum.wait(), 499'500);
  EXPECT_LE(threads_of_process(), 64u);
}

// ---- Size

TEST(Pool, SizesThatAreNoneAreRefused) {
  for (const int count : {0, -1, 1025}) {
    EXPECT_THROWN(
        set_thread_count(count), BadValue,
        "a pool of " + std::to_string(count) + " threads was asked for; it has from 1 to 1024");
  }
}

// In a program of its own: the environment is read once. Prints what the size is.
TEST(Pool, DISABLED_PrintsItsSize) {
  try {
    std::printf("size=%d|", thread_count());
  } catch (const Error& error) {
    std::printf("error=%s|", error.what());
  }
}

std::string size_with(const std::string& variable) {
  const std::string command =
      "OPYARD_NUM_THREADS=" + variable + " /proc/" + std::to_string(getpid()) +
      "/exe --gtest_also_run_disabled_tests --gtest_filter=Pool.DISABLED_PrintsItsSize";
  FILE* const pipe = popen(command.c_str(), "r");
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += char(c);
  pclose(pipe);
  const std::size_t begin =
      text.find('=', text.find("size=") == text.npos ? text.find("error=") : text.find("size="));
  return text.substr(begin + 1, text.find('|') - begin - 1);
}

TEST(Pool, TheEnvironmentSaysTheSize) {
  EXPECT_EQ(size_with("3"), "3");
  EXPECT_EQ(size_with("1024"), "1024");
  EXPECT_NE(size_with("''"), "") << "an empty one is none";
  for (const std::string wrong : {"0", "-2", "4x", "1025", "99999999999999"}) {
    EXPECT_EQ(size_with(wrong),
              "OPYARD_NUM_THREADS is '" + wrong + "'; it takes a number from 1 to 1024");
  }
}

// ---- Processes

TEST(PoolAndFork, NothingIsThereBeforeTheFirstUse) {
  EXPECT_EQ(in_child([] {
              if (threads_of_process() != 1) return 1;
              set_thread_count(3);
              if (threads_of_process() != 1) return 2;
              start_task([] {}).wait(60s);
              return threads_of_process() == 2 ? 0 : 3;
            }),
            0);
}

TEST(PoolAndFork, AChildStartsAfresh) {
  const Size scope(3);
  for (int round = 0; round < 30; ++round) {
    std::vector<Future<std::int64_t>> busy;
    for (int i = 0; i < 20; ++i) busy.push_back(start_task([] { return std::int64_t{1}; }));
    EXPECT_EQ(in_child([] {
                std::atomic<int> sum = 0;
                parallel_for(0, 100, 1, [&](std::int64_t begin, std::int64_t end) {
                  sum += int(end - begin);
                });
                if (sum != 100) return 1;
                return start_task([] { return std::int64_t{5}; }).wait(60s) == 5 ? 0 : 2;
              }),
              0);
    for (const auto& task : busy) EXPECT_EQ(task.wait(), 1);
  }
}

TEST(PoolAndFork, WhatTheParentHadQueuedOrWasRunning) {
  const Size scope(1);
  Door door;
  Door busy;
  const auto running = start_task([&] {
    busy.open();
    door.pass();
  });
  busy.pass();
  const auto queued = start_task([] { return std::int64_t(getpid()); });
  const auto timed = start_task([] { return std::int64_t(getpid()); });
  EXPECT_EQ(
      in_child([&] {
        const Thrown error = thrown_by([&] { running.wait(); });
        if (error.kind != ErrorKind::BadFuture) return 1;
        if (error.text !=
            "a thread of the parent was running this task when this process was forked, so it is "
            "never completed here; wait before the fork, or start the task anew") {
          return 2;
        }
        if (thrown_by([&] { running.wait(10ms); }).kind != ErrorKind::BadFuture) return 3;
        if (queued.wait() != getpid()) return 4;
        return timed.wait(60s) == getpid() ? 0 : 5;
      }),
      0);
  door.open();
  EXPECT_EQ(queued.wait(), getpid()) << "and in the parent it runs once more";
  running.wait();  // it is at the doors until then
}

TEST(PoolAndFork, AForkInsideOfALoopIsAnErrorInTheChild) {
  const Size scope(2);
  std::atomic<int> inside = 0;
  std::atomic<int> answer = -2;
  const auto body = [&](std::int64_t, std::int64_t) {
    ++inside;
    while (inside < 2) std::this_thread::yield();
  };
  const auto caller = std::this_thread::get_id();
  pid_t child = -1;
  const auto forking = [&](std::int64_t begin, std::int64_t end) {
    body(begin, end);
    if (std::this_thread::get_id() != caller || child != -1) {
      while (child == -1) std::this_thread::yield();
      return;
    }
    child = fork();
    if (child == 0) alarm(60);
  };
  try {
    parallel_for(0, 2, 1, forking);
    if (child == 0) _exit(1);
  } catch (const Error& error) {
    _exit(child == 0 && error.kind() == ErrorKind::BadFuture ? 7 : 2);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

TEST(PoolAndExit, NobodyWaitsForWhatRuns) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a forked child has lost what its parent's threads kept, which counts as leaked";
#endif
  EXPECT_EQ(in_child([]() -> int {
              set_thread_count(3);
              std::atomic<int> begun = 0;
              for (int i = 0; i < 6; ++i) {
                start_task([&] {
                  ++begun;
                  std::this_thread::sleep_for(1h);
                });
              }
              while (begun < 3) std::this_thread::yield();
              std::exit(5);
            }),
            5);
}

// ---- From C

TEST(PoolFromC, LoopsTasksAndSizes) {
  int former = 0;
  ASSERT_EQ(opyard_thread_count(&former), OPYARD_OK);
  ASSERT_EQ(opyard_set_thread_count(3), OPYARD_OK);
  std::atomic<std::int64_t> sum = 0;
  ASSERT_EQ(opyard_parallel_for(
                0, 100, 7,
                [](void* context, std::int64_t begin, std::int64_t end) -> int {
                  *static_cast<std::atomic<std::int64_t>*>(context) += end - begin;
                  return OPYARD_OK;
                },
                &sum),
            OPYARD_OK);
  EXPECT_EQ(sum, 100);
  EXPECT_EQ(opyard_parallel_for(
                0, 100, 7,
                [](void*, std::int64_t, std::int64_t) -> int {
                  return opyard_set_error(OPYARD_ERROR_BadShape, "out of C");
                },
                nullptr),
            OPYARD_ERROR_BadShape);
  EXPECT_STREQ(opyard_last_error(), "out of C");
  EXPECT_EQ(
      opyard_parallel_for(
          0, 100, 7, [](void*, std::int64_t, std::int64_t) { return int(OPYARD_ERROR_BadIndex); },
          nullptr),
      OPYARD_ERROR_BadIndex);
  EXPECT_EQ(opyard_parallel_for(0, 1, 1, nullptr, nullptr), OPYARD_ERROR_BadArgument);

  opyard_stack* stack = nullptr;
  ASSERT_EQ(opyard_stack_create(&stack), OPYARD_OK);
  std::atomic<int> destroyed = 0;
  const auto destroy = [](void* context) { ++*static_cast<std::atomic<int>*>(context); };
  opyard_task task = {sizeof(task),
                      [](void*, opyard_stack* result) { return opyard_push_int(result, 6); },
                      &destroyed, destroy};
  ASSERT_EQ(opyard_start_task(&task, stack), OPYARD_OK);
  EXPECT_EQ(opyard_get(stack, 0).kind, OPYARD_KIND_Future);
  ASSERT_EQ(opyard_wait(opyard_get(stack, 0), stack), OPYARD_OK);
  EXPECT_EQ(opyard_get(stack, 1).as.integer, 6);
  EXPECT_EQ(destroyed, 1);
  task.function = [](void*, opyard_stack*) {
    return opyard_set_error(OPYARD_ERROR_BadValue, "late");
  };
  ASSERT_EQ(opyard_start_task(&task, stack), OPYARD_OK);
  EXPECT_EQ(opyard_wait(opyard_get(stack, 2), stack), OPYARD_ERROR_BadValue);
  EXPECT_STREQ(opyard_last_error(), "late");
  EXPECT_EQ(opyard_stack_size(stack), 3u);
  task.function = nullptr;
  EXPECT_EQ(opyard_start_task(&task, stack), OPYARD_ERROR_BadArgument);
  EXPECT_EQ(opyard_stack_size(stack), 3u);
  EXPECT_EQ(opyard_wait(opyard_get(stack, 1), stack), OPYARD_ERROR_BadArgument);
  EXPECT_EQ(destroyed, 3);
  opyard_stack_destroy(stack);
  EXPECT_EQ(opyard_set_thread_count(0), OPYARD_ERROR_BadValue);
  EXPECT_EQ(opyard_set_thread_count(former), OPYARD_OK);
}

}  // namespace
}  // namespace opyard::test_pool
