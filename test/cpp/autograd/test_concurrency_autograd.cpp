// test_concurrency_autograd.cpp: runs backwards on several threads at once, on graphs of their own and on one that
// is kept; also under the thread sanitizer. Suspect autograd/src/engine.cpp.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "../aten.h"
#include "../on_threads.h"
#include "opyard/autograd.h"
#include "opyard/library.h"

namespace opyard::test_concurrency_autograd {
namespace {

using namespace autograd;  // NOLINT: this file is about it

constexpr int kRounds = rounds(1000);
constexpr int kThreads = 4;

Tensor number(float value) {
  const Tensor tensor = Tensor::empty(std::array{std::int64_t{1}});
  *tensor.mutable_data<float>() = value;
  return tensor;
}
Tensor mul(const Tensor& a, const Tensor& b) {
  static const auto op =
      require_operator("aten::mul.Tensor").typed<Tensor(const Tensor&, const Tensor&)>();
  return op.call(a, b);
}

class ConcurrencyAutograd : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { load_library(kKernelsLibrary); }
};

// The first of this program, since arming is once in a process.
TEST_F(ConcurrencyAutograd, CallsGoOnWhileAThreadArmsAndAreTapedWhenItHas) {
  if (detail::tape_armed.load()) GTEST_SKIP() << "armed by an earlier test of this process";
  const Tensor leaf = number(3);
  std::atomic<int> calling{0};
  std::atomic<bool> is_armed{false};
  on_threads(kThreads, [&](int thread) {
    if (thread == 0) {
      while (calling.load() < kThreads - 1) std::this_thread::yield();
      require_gradient(leaf);
      is_armed.store(true);
      return;
    }
    const Tensor x = number(2);
    bool has_called = false;
    bool was_armed = false;
    for (int after = 0; after < kRounds; after += was_armed ? 1 : 0) {
      EXPECT_EQ(*mul(x, x).data<float>(), 4.0F);
      if (!std::exchange(has_called, true)) calling.fetch_add(1);
      was_armed = is_armed.load();
    }
    EXPECT_TRUE(requires_gradient(mul(leaf, x)));
  });
  backward(mul(leaf, leaf));
  EXPECT_EQ(*gradient_of(leaf).data<float>(), 6.0F);
}

TEST_F(ConcurrencyAutograd, G21_GraphsOfTheirOwnThatShareALeaf) {
  const Tensor w = number(1);
  require_gradient(w);
  on_threads(kThreads, [&](int) {
    for (int i = 0; i < kRounds; ++i) {
      const Tensor x = number(2);
      require_gradient(x);
      backward(mul(mul(x, w), x));
      EXPECT_EQ(*gradient_of(x).data<float>(), 4.0F);
    }
  });
  EXPECT_EQ(*gradient_of(w).data<float>(), 4.0F * kThreads * kRounds);
}

TEST_F(ConcurrencyAutograd, G21_OneGraphThatIsKept) {
  const Tensor x = number(3);
  require_gradient(x);
  const Tensor y = mul(mul(x, x), x);
  on_threads(kThreads, [&](int) {
    for (int i = 0; i < kRounds; ++i) {
      const Gradients found = grad({&y, 1}, {&x, 1}, {}, {.keep_graph = true});
      EXPECT_EQ(*found[0].data<float>(), 27.0F);
    }
  });
}

TEST_F(ConcurrencyAutograd, G9_OneGraphThatIsNotKeptIsRunByOneOfThem) {
  for (int i = 0; i < kRounds / 10; ++i) {
    const Tensor x = number(3);
    require_gradient(x);
    const Tensor y = mul(x, x);
    std::atomic<int> worked{0};
    on_threads(kThreads, [&](int) {
      try {
        EXPECT_EQ(*grad({&y, 1}, {&x, 1})[0].data<float>(), 6.0F);
        ++worked;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("a second time"), std::string::npos);
      }
    });
    EXPECT_GE(worked.load(), 1);
  }
}

TEST_F(ConcurrencyAutograd, G9_RunsThatKeepAGraphAndOneThatDoesNot) {
  for (int i = 0; i < kRounds / 10; ++i) {
    const Tensor x = number(3);
    require_gradient(x);
    const Tensor y = mul(mul(x, x), x);
    std::atomic<int> ended{0};
    on_threads(kThreads, [&](int thread) {
      try {
        const Gradients found = grad({&y, 1}, {&x, 1}, {}, {.keep_graph = thread != 0});
        EXPECT_EQ(*found[0].data<float>(), 27.0F);
        ++ended;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("a second time"), std::string::npos);
      }
    });
    EXPECT_GE(ended.load(), 1) << "the one that does not keep it refuses others, and ends";
    EXPECT_THROW(grad({&y, 1}, {&x, 1}), Error);
  }
}

}  // namespace
}  // namespace opyard::test_concurrency_autograd
