// test_autograd_fork.cpp: protects the child of a process that forks while another thread arms the
// recorder: it finds the recorder armed, or not at all, and records.
//
// Arming is once in a process, so each round is in a child of its own. There the thread that arms
// is held up at one of its requests for memory until the fork has begun. A child that hangs is
// ended by an alarm, and the test fails.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include "aten.h"
#include "opyard/autograd.h"
#include "opyard/library.h"

namespace {

constinit thread_local bool arms = false;  // this thread
constinit std::atomic<long> requests{0};   // that it has made
constinit std::atomic<long> held_up_at{-1};
constinit std::atomic<bool> is_held_up{false};
constinit std::atomic<bool> forks{false};

void* take(std::size_t bytes) {
  if (arms && requests++ == held_up_at) {
    is_held_up = true;
    is_held_up.notify_all();
    forks.wait(false);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // fork() has begun, and waits
  }
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return take(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace opyard {
namespace {

constexpr unsigned kLongest = 30;  // seconds

Tensor three() {
  const Tensor tensor = Tensor::empty(std::array{std::int64_t{1}});
  *tensor.mutable_data<float>() = 3;
  return tensor;
}

// 0 where it worked.
int records() {
  const Tensor x = three();
  autograd::require_gradient(x);
  const auto mul =
      require_operator("aten::mul.Tensor").typed<Tensor(const Tensor&, const Tensor&)>();
  autograd::backward(mul.call(x, x));
  return *autograd::gradient_of(x).data<float>() == 6 ? 0 : 1;
}

template <typename Body>
int in_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kLongest);
    _exit(body());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void arm_here() {
  arms = true;
  autograd::arm();
  arms = false;
}

// Forks while another thread arms, at its request `at`.
int fork_in_mid_arming(long at) {
  held_up_at = at;
  std::thread arming(&arm_here);
  is_held_up.wait(false);
  forks = true;
  forks.notify_all();
  const int of_child = in_child(records);
  arming.join();
  return of_child != 0 ? of_child : records();
}

TEST(AutogradFork, T11_AChildRecordsThoughAnotherThreadWasArming) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers cannot be forked while threads run";
#endif
  load_library(kKernelsLibrary);
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  ASSERT_EQ(in_child([&] {
              arm_here();
              const long all = requests;
              return write(pipe_ends[1], &all, sizeof all) == sizeof all ? 0 : 1;
            }),
            0);
  long all = 0;
  ASSERT_EQ(read(pipe_ends[0], &all, sizeof all), ssize_t(sizeof all));
  ASSERT_GT(all, 100) << "a record for each operator";
  for (const long at : {0L, 1L, 2L, 3L, 5L, 8L, 13L, all / 2, all - 2, all - 1}) {
    EXPECT_EQ(in_child([&] { return fork_in_mid_arming(at); }), 0) << "at request " << at;
  }
}

}  // namespace
}  // namespace opyard
