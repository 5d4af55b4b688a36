// test_gil.cpp: protects that a kernel which is registered so runs with the lock of the interpreter
// released, however it is called, and that the lock is taken again when it has thrown.
// Suspect dispatcher/src/interpreter/gil.cpp.
#include "opyard/interpreter/gil.h"

#include <gtest/gtest.h>

#include <functional>

#include "../registering.h"

namespace opyard::test_gil {
namespace {

using K = DispatchKey;

// Stands for an interpreter: this thread holds its lock or not.
thread_local bool holds = false;
thread_local int released = 0;
thread_local bool held_in_kernel = true;

constexpr GilFunctions kFake = {[] {
                                  if (!holds) return static_cast<void*>(nullptr);
                                  holds = false;
                                  ++released;
                                  return static_cast<void*>(&holds);
                                },
                                [](void* place) { *static_cast<bool*>(place) = true; }};

Tensor pass(const Tensor& x) {
  held_in_kernel = holds;
  return x;
}
Tensor pass_with_keys(DispatchKeySet, const Tensor& x) { return pass(x); }
Tensor throws(const Tensor&) { throw 42; }
void pass_boxed(const Operator&, DispatchKeySet, Stack&) { held_in_kernel = holds; }

class GilTest : public testing::Test {
 protected:
  void SetUp() override {
    set_gil_functions(&kFake);
    holds = true;
    released = 0;
  }
  void TearDown() override {
    EXPECT_TRUE(holds);
    set_gil_functions(nullptr);
    holds = false;
  }
  // How often the lock was released in a typed call, a boxed one and one from registers.
  static void call_each(const std::function<void()>& check) {
    const Operator& op = registry().require("t::f");
    const Value x = tensor_with({K::CPU});
    const auto typed = op.typed<Tensor(const Tensor&)>();
    held_in_kernel = true;
    EXPECT_TRUE(typed.call(x.to_tensor()).same(x.to_tensor()));
    check();
    InlineStack<1> stack;
    stack.push(x);
    held_in_kernel = true;
    op.call_boxed(stack);
    EXPECT_TRUE(stack[0].identical(x));
    check();
    const Value* const arguments[] = {&x};
    Value result;
    Value* const results[] = {&result};
    held_in_kernel = true;
    op.call_from_registers({arguments, results});
    EXPECT_TRUE(result.identical(x));
    check();
  }
};
using Gil = GilTest;

TEST_F(Gil, EveryKindOfFunctionIsCalledWithTheLockReleased) {
  const std::function<Kernel()> kernels[] = {
      [] { return releases_gil(&pass); },
      [] { return releases_gil(pass); },
      [] { return releases_gil(&pass_with_keys); },
      [] { return releases_gil([kept = 1](const Tensor& x) { return pass(kept == 1 ? x : x); }); },
      [] { return releases_gil(&pass_boxed); },
  };
  for (const auto& kernel : kernels) {
    const Registration op = define("t::f(Tensor x) -> Tensor");
    const Registration cpu = implement("t::f", K::CPU, kernel());
    released = 0;
    call_each([] {
      EXPECT_FALSE(held_in_kernel);
      EXPECT_TRUE(holds);
    });
    EXPECT_EQ(released, 3);
  }
}

TEST_F(Gil, AKernelWithoutTheMarkKeepsIt) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration cpu = implement("t::f", K::CPU, Kernel::from(&pass));
  call_each([] { EXPECT_TRUE(held_in_kernel); });
  EXPECT_EQ(released, 0);
}

TEST_F(Gil, AThreadThatHoldsNoLockReleasesNone) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration cpu = implement("t::f", K::CPU, releases_gil(&pass));
  holds = false;
  call_each([] { EXPECT_FALSE(holds) << "nothing was taken either"; });
  EXPECT_EQ(released, 0);
  set_gil_functions(nullptr);
  holds = true;
  call_each([] { EXPECT_TRUE(held_in_kernel) << "no one says how it is released"; });
}

TEST_F(Gil, ItIsTakenAgainWhenTheKernelHasThrown) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration cpu = implement("t::f", K::CPU, releases_gil(&throws));
  EXPECT_THROW(call_each([] {}), int);
  EXPECT_EQ(released, 1);
}

}  // namespace
}  // namespace opyard::test_gil
