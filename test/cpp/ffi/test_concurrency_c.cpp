// test_concurrency_c.cpp: protects C functions and callbacks while threads call, register and take
// back at once. Also built for the thread sanitizer. Suspect dispatcher/src/ffi/.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "../on_threads.h"
#include "c_functions.h"

namespace opyard::test_concurrency_c {
namespace {

constexpr int kThreads = 4;

double twice(double x) { return 2 * x; }
int negate(const dlpack::DLTensor* x, dlpack::DLManagedTensorVersioned**, std::int64_t* elements) {
  *elements = x->shape[0];
  return opyard_set_error(OPYARD_ERROR_BadShape, "never");
}

// Registers twice() for `comes` and takes it back, again and again.
void come_and_go(const ServedByC& op, std::atomic<bool>& done) {
  for (int i = 0; i < 300; ++i) {
    Library kernels(LibraryKind::Impl, "t");
    kernels.impl("comes", c_kernel(op.op(), reinterpret_cast<const void*>(&twice), "twice"));
  }
  done = true;
}

TEST(ConcurrencyC, AKernelComesAndGoesWhileItIsCalled) {
  const ServedByC op("comes(float x) -> float");
  std::atomic<bool> done{false};
  std::thread registering([&] { come_and_go(op, done); });
  on_threads(kThreads, [&](int) {
    while (!done) {
      InlineStack<1> stack;
      stack.push(Value(4.0));
      try {
        op.op().call_boxed(stack);
        ASSERT_EQ(stack[0].to_double(), 8.0);
      } catch (const Error& error) {
        ASSERT_EQ(error.kind(), ErrorKind::NoKernel);
      }
    }
  });
  registering.join();
}

TEST(ConcurrencyC, ACallbackIsCalledWhileItsKernelComesAndGoes) {
  const ServedByC op("comes(float x) -> float");
  const CFunction f = c_function(op.op());
  const auto call = f.as<double(double)>();
  std::atomic<bool> done{false};
  std::thread registering([&] { come_and_go(op, done); });
  on_threads(kThreads, [&](int) {
    while (!done) {
      const double result = call(4.0);
      ASSERT_TRUE(result == 8.0 || std::isnan(result));
      ASSERT_EQ(std::isnan(result), opyard_last_status() == OPYARD_ERROR_NoKernel);
      opyard_clear_error();
    }
  });
  registering.join();
}

TEST(ConcurrencyC, CallbacksAreMadeAndEndedAtOnce) {
  ServedByC op("twice(float x) -> float");
  op.library().impl("twice", c_kernel(op.op(), reinterpret_cast<const void*>(&twice), "twice"));
  on_threads(kThreads, [&](int) {
    for (int i = 0; i < 300; ++i) {
      const CFunction first = c_function(op.op());
      const CFunction second = c_function(op.op());
      ASSERT_EQ(first.as<double(double)>()(i), 2.0 * i);
      ASSERT_EQ(second.as<double(double)>()(2.0), 4.0);
      ASSERT_NE(first.address(), second.address());
    }
  });
}

TEST(ConcurrencyC, EachThreadHasItsOwnErrors) {
  ServedByC op("negate(Tensor x) -> (Tensor, int)");
  op.library().impl("negate", c_kernel(op.op(), reinterpret_cast<const void*>(&negate), "negate"));
  const Tensor x = doubles({1, 2});
  on_threads(kThreads, [&](int) {
    for (int i = 0; i < 300; ++i) {
      EXPECT_THROW(op.call(x), Error);
      ASSERT_EQ(opyard_last_error(), nullptr);
    }
  });
  EXPECT_EQ(x.impl()->storage()->owner_count(), 1u);
}

TEST(ConcurrencyC, FunctionsOfOneLibraryAreRegisteredAtOnce) {
  std::atomic<int> number{0};
  on_threads(kThreads, [&](int) {
    for (int i = 0; i < 50; ++i) {
      const std::string name = "at_once_" + std::to_string(number++);
      ServedByC op(name + "(int a, int b) -> int", "c_add");
      ASSERT_EQ(op.call(20, 3)[0], Value(23));
    }
  });
}

}  // namespace
}  // namespace opyard::test_concurrency_c
