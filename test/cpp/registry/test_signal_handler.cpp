// test_signal_handler.cpp: protects a call that a signal handler interrupts which makes calls itself.
// Suspect opyard/registry/operator.h and dispatcher/src/registry/reclaim.cpp.
//
// A handler runs on the calling thread between any two instructions, so also between a call's look
// at a slot and its kernel. What the call has read must stay alive there: the handler's calls have
// to leave the thread's reading mark as they found it (registry/operator.h). The first tests hold a
// thread at that very place; the planted handler clears the mark, as calls once did, and must be
// found out. The last one interrupts at random, for the address sanitizer to watch.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <thread>

#include "../registering.h"

namespace opyard::test_signal_handler {
namespace {

using K = DispatchKey;
using Count = std::int64_t(const Tensor&);
using Witness = std::shared_ptr<int>;

Kernel counting(const Witness& witness) {
  return Kernel::from([witness](const Tensor& x) -> std::int64_t { return x.numel() + *witness; });
}

// What the handlers call: made before a signal can come.
struct Called {
  TypedOperator<Count> op;
  Tensor x;
  std::atomic<std::uint64_t> calls = 0;
};
Called* called = nullptr;

void call_in_handler(int) { called->calls += std::uint64_t(called->op.call(called->x)); }
void call_and_clear(int) {
  call_in_handler(0);
  detail::local_block.reading = 0;
}
// Long enough that the other threads go on meanwhile.
void call_and_stay(int) {
  for (int i = 0; i < 20; ++i) call_in_handler(0);
}

class SignalHandler : public testing::Test {
 protected:
  SignalHandler() { called = &called_; }
  ~SignalHandler() override {
    std::signal(SIGUSR1, SIG_DFL);
    registry().reclaim();
    EXPECT_EQ(inspect::retired_count(), 0u);
  }

  static void install(void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
  }

  // How often a record that a thread has read is still waited for after a handler ran there.
  std::size_t retired_behind(void (*handler)(int)) {
    install(handler);
    Registration kernel = implement("t::busy", K::CPU, counting(witness_));
    std::atomic<int> step = 0;
    std::thread reader([&] {
      detail::enter_thread();
      const std::uint32_t outer = detail::begin_reading();
      std::raise(SIGUSR1);
      step = 1;
      step.notify_all();
      step.wait(1);
      detail::end_reading(outer);
    });
    step.wait(0);
    kernel.undo();
    const std::size_t retired = inspect::retired_count();
    step = 2;
    step.notify_all();
    reader.join();
    return retired;
  }

  const Registration busy_ = define("t::busy(Tensor x) -> int");
  const Registration quick_ = define("t::quick(Tensor x) -> int");
  const Registration quick_kernel_ = implement(
      "t::quick", K::CPU, Kernel::from(+[](const Tensor& x) -> std::int64_t { return x.numel(); }));
  const Tensor x_ = tensor_with({K::CPU});
  const Witness witness_ = std::make_shared<int>(0);
  Called called_{registry().require("t::quick").typed<Count>(), x_};
};

TEST_F(SignalHandler, ItsCallsLeaveWhatTheInterruptedCallReads) {
  EXPECT_EQ(retired_behind(&call_in_handler), 1u);
  EXPECT_EQ(called_.calls, 1u);
}

TEST_F(SignalHandler, AHandlerThatClearsTheMarkIsFoundOut) {
  EXPECT_EQ(retired_behind(&call_and_clear), 0u) << "freed while it was read";
}

TEST_F(SignalHandler, ItMayComeAtAnyMomentWhileAnotherThreadRegisters) {
  install(&call_and_stay);
  const Registration below = implement("t::busy", K::CPU, counting(witness_));
  const auto busy = registry().require("t::busy").typed<Count>();
  std::atomic<bool> begun = false;
  std::atomic<bool> ended = false;
  std::int64_t sum = 0;
  std::int64_t calls = 0;
  std::thread caller([&] {
    static_cast<void>(called_.op.call(x_));
    begun = true;
    begun.notify_all();
    for (; !ended; ++calls) sum += busy.call(x_);
  });
  begun.wait(false);
  for (int i = 0; i < 3000; ++i) {
    pthread_kill(caller.native_handle(), SIGUSR1);
    implement("t::busy", K::CPU, counting(witness_)).undo();
  }
  ended = true;
  caller.join();
  EXPECT_EQ(sum, calls);
  EXPECT_GT(called_.calls, 1u);
}

}  // namespace
}  // namespace opyard::test_signal_handler
