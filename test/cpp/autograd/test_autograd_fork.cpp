// test_autograd_fork.cpp: protects the child of a process that forks while another thread arms the
// tape, or tapes and runs backward for the first time: the child tapes.
// Suspect autograd/src/functions/locks.cpp and tape.cpp.
//
// What is done at first use is done once in a process, so each round is in a child of its own.
// There the other thread is held up at one of its requests for memory until the fork has begun. A
// child that hangs is ended by an alarm, and the test fails.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include "../aten.h"
#include "opyard/autograd.h"
#include "opyard/library.h"

namespace {

constinit thread_local bool is_first = false;  // this thread does something for the first time
constinit std::atomic<long> requests{0};       // that it has made
constinit std::atomic<long> held_up_at{-1};
constinit std::atomic<bool> is_held_up{false};
constinit std::atomic<bool> forks{false};

void* take(std::size_t bytes) {
  if (is_first && requests++ == held_up_at) {
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

namespace opyard::test_autograd_fork {
namespace {

constexpr unsigned kLongest = 30;  // seconds

Tensor three() {
  const Tensor tensor = Tensor::empty(std::array{std::int64_t{1}});
  *tensor.mutable_data<float>() = 3;
  return tensor;
}

// 0 where it worked.
int tapes() {
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

void first(void (*what)()) {
  is_first = true;
  what();
  is_first = false;
}
void tape_once() { EXPECT_EQ(tapes(), 0); }

// Forks while another thread does something for the first time, at its request `at`.
int fork_in_mid(void (*what)(), long at) {
  held_up_at = at;
  std::thread other([&] { first(what); });
  is_held_up.wait(false);
  forks = true;
  forks.notify_all();
  const int of_child = in_child(tapes);
  other.join();
  return of_child != 0 ? of_child : tapes();
}

// How many requests the first time makes, counted in a child; 0 if that fails.
long count_requests(void (*what)()) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return 0;
  const int failed = in_child([&] {
    first(what);
    const long all = requests;
    return write(pipe_ends[1], &all, sizeof all) == sizeof all ? 0 : 1;
  });
  long all = 0;
  return failed == 0 && read(pipe_ends[0], &all, sizeof all) == ssize_t(sizeof all) ? all : 0;
}

bool can_fork() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

TEST(AutogradFork, T11_AChildTapesThoughAnotherThreadWasArming) {
  if (!can_fork()) GTEST_SKIP() << "sanitizers cannot be forked while threads run";
  load_library(kKernelsLibrary);
  const long all = count_requests(&autograd::arm);
  ASSERT_GT(all, 100) << "a record for each operator";
  for (const long at : {0L, 1L, 2L, 3L, 5L, 8L, 13L, all / 2, all - 2, all - 1}) {
    EXPECT_EQ(in_child([&] { return fork_in_mid(&autograd::arm, at); }), 0) << "at request " << at;
  }
}

TEST(AutogradFork, T11_AChildTapesThoughAnotherThreadTapedForTheFirstTime) {
  if (!can_fork()) GTEST_SKIP() << "sanitizers cannot be forked while threads run";
  load_library(kKernelsLibrary);
  autograd::arm();
  const long all = count_requests(&tape_once);
  ASSERT_GT(all, 50) << "formulas are read";
  for (long at = 0; at < all; at += 1 + all / 60) {
    EXPECT_EQ(in_child([&] { return fork_in_mid(&tape_once, at); }), 0) << "at request " << at;
  }
}

}  // namespace
}  // namespace opyard::test_autograd_fork
