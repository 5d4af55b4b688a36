// test_reclaim.cpp: protects that a kernel that was unregistered is freed, in time and not before.
// Suspect dispatcher/src/registry/reclaim.cpp.
//
// "Freed" is seen by the context of the kernel: a shared pointer that the test holds as well.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <memory>
#include <thread>

#include "../counting_new.h"
#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/inspect/inspect.h"
#include "opyard/registry/library.h"

namespace opyard::test_reclaim {
namespace {

using K = DispatchKey;
using Unary = Tensor(const Tensor&);
using Witness = std::shared_ptr<int>;

Kernel holding(const Witness& witness) {
  return Kernel::from([witness](const Tensor& x) -> Tensor {
    ++*witness;
    return x;
  });
}

// A kernel that a call on another thread stays inside of until it is let go.
class Gate {
 public:
  Kernel kernel(const Witness& witness) {
    return Kernel::from([this, witness](const Tensor& x) -> Tensor {
      inside_ = true;
      inside_.notify_all();
      open_.wait(false);
      ++*witness;
      return x;
    });
  }
  void wait_until_inside() { inside_.wait(false); }
  void open() {
    open_ = true;
    open_.notify_all();
  }

 private:
  std::atomic<bool> inside_ = false;
  std::atomic<bool> open_ = false;
};

class Reclaim : public testing::Test {
 protected:
  ~Reclaim() override {
    registry().reclaim();
    EXPECT_EQ(inspect::retired_count(), 0u);
  }
  const Registration op_ = define("t::f(Tensor x) -> Tensor");
  const TypedOperator<Unary> f_ = registry().require("t::f").typed<Unary>();
  const Tensor x_ = tensor_with({K::CPU});
  const Witness witness_ = std::make_shared<int>(0);
};

TEST_F(Reclaim, AKernelThatIsTakenBackIsDestroyedAtOnceWhereNoCallRuns) {
  Registration kernel = implement("t::f", K::CPU, holding(witness_));
  static_cast<void>(f_.call(x_));
  EXPECT_EQ(witness_.use_count(), 2);
  kernel.undo();
  EXPECT_EQ(witness_.use_count(), 1);
  EXPECT_EQ(inspect::retired_count(), 0u);
}

TEST_F(Reclaim, FallbacksAndReplacedKernelsAreDestroyedAsWell) {
  const char owner = 0;
  const Registration first = implement("t::f", K::CPU, holding(witness_), "", &owner);
  const Registration second = implement("t::f", K::CPU, echo(""), "", &owner);
  EXPECT_EQ(witness_.use_count(), 1);
  Registration fallback = registry().implement_fallback(
      K::XLA,
      Kernel::with_context([](const Record&, const Operator&, DispatchKeySet, Stack&) {},
                           new Witness(witness_),
                           [](void* context) { delete static_cast<Witness*>(context); }),
      "");
  EXPECT_EQ(witness_.use_count(), 2);
  fallback.undo();
  EXPECT_EQ(witness_.use_count(), 1);
}

TEST_F(Reclaim, NotWhileACallOnAnotherThreadIsInside) {
  Gate gate;
  Registration kernel = implement("t::f", K::CPU, gate.kernel(witness_));
  std::thread caller([&] { static_cast<void>(f_.call(x_)); });
  gate.wait_until_inside();
  kernel.undo();
  EXPECT_EQ(witness_.use_count(), 2);
  EXPECT_EQ(inspect::retired_count(), 1u);
  for (int i = 0; i < 10; ++i) {
    implement("t::f", K::CPU, holding(witness_)).undo();
    EXPECT_EQ(inspect::retired_count(), 2u + i) << "what is retired later waits as well";
  }
  EXPECT_EQ(*witness_, 0);
  gate.open();
  caller.join();
  EXPECT_EQ(*witness_, 1) << "the kernel ran to its end with its context";
  registry().reclaim();
  EXPECT_EQ(witness_.use_count(), 1);
}

// A call that has read a slot and not yet come to its function, held there for the test.
TEST_F(Reclaim, NotWhileACallOnAnotherThreadReads) {
  std::atomic<int> step = 0;
  std::thread reader([&] {
    detail::enter_thread();
    const std::uint32_t outer = detail::begin_reading();
    step = 1;
    step.notify_all();
    step.wait(1);
    detail::end_reading(outer);
    step = 3;
    step.notify_all();
    step.wait(3);
  });
  step.wait(0);
  implement("t::f", K::CPU, holding(witness_)).undo();
  EXPECT_EQ(witness_.use_count(), 2);
  EXPECT_EQ(inspect::retired_count(), 1u);
  step = 2;
  step.notify_all();
  step.wait(2);
  registry().reclaim();
  EXPECT_EQ(witness_.use_count(), 1) << "the thread lives on, and reads no more";
  step = 4;
  step.notify_all();
  reader.join();
}

// What a handler does that runs between a call's look at a slot and its kernel; see
// test_signal_handler.cpp.
TEST_F(Reclaim, ACallInsideOfAReadingLeavesTheReadingAsItWas) {
  const Registration fast =
      implement("t::f", K::CPU, Kernel::from(+[](const Tensor& x) -> Tensor { return x; }));
  const Registration layer =
      implement("t::f", K::AutogradCPU, Kernel::from(+[](DispatchKeySet keys, const Tensor& x) {
                  const DispatchKeySet below(DispatchKeySet::FULL_AFTER, K::AutogradCPU);
                  return registry().require("t::f").typed<Unary>().redispatch(keys & below, x);
                }));
  const Registration slow = implement("t::f", K::Meta, holding(witness_));
  detail::enter_thread();
  for (const DispatchKeySet keys :
       {DispatchKeySet{K::CPU}, DispatchKeySet{K::CPU, K::AutogradCPU}, DispatchKeySet{K::Meta}}) {
    const Tensor x = tensor_with(keys);
    const std::uint32_t outer = detail::begin_reading();
    EXPECT_EQ(outer, 0u);
    static_cast<void>(f_.call(x));
    EXPECT_EQ(detail::local_block.reading, 1u) << to_string(keys);
    detail::end_reading(outer);
    EXPECT_EQ(detail::local_block.reading, 0u);
  }
}

// A layer that is a function holds no record, and what it passes its call on to is held anew.
TEST_F(Reclaim, ALayerThatIsAFunctionHoldsWhatItRedispatchesTo) {
  static const TypedOperator<Unary>* f;
  f = &f_;
  Gate gate;
  Registration layer =
      implement("t::f", K::AutogradCPU, Kernel::from(+[](DispatchKeySet keys, const Tensor& x) {
                  const DispatchKeySet below(DispatchKeySet::FULL_AFTER, K::AutogradCPU);
                  return f->redispatch(keys & below, x);
                }));
  Registration kernel = implement("t::f", K::CPU, gate.kernel(witness_));
  const Tensor x = tensor_with({K::CPU, K::AutogradCPU});
  std::thread caller([&] { static_cast<void>(f_.call(x)); });
  gate.wait_until_inside();
  kernel.undo();
  EXPECT_EQ(inspect::retired_count(), 1u) << "its context is in use";
  gate.open();
  caller.join();
  layer.undo();
  EXPECT_EQ(inspect::retired_count(), 0u);
  EXPECT_EQ(witness_.use_count(), 1);
}

TEST_F(Reclaim, AFunctionIsFreedWhileItRuns) {
  static std::atomic<int> step;
  step = 0;
  Registration kernel =
      implement("t::f", K::CPU, Kernel::from(+[](DispatchKeySet, const Tensor& x) -> Tensor {
                  step = 1;
                  step.notify_all();
                  step.wait(1);
                  return x;
                }));
  std::thread caller([&] {
    detail::enter_thread();  // a thread's first call holds a depth until it is done
    static_cast<void>(f_.call(x_));
  });
  step.wait(0);
  kernel.undo();
  EXPECT_EQ(inspect::retired_count(), 0u) << "its record is not needed any more";
  step = 2;
  step.notify_all();
  caller.join();
}

TEST_F(Reclaim, EveryChangeLooksAgain) {
  Gate gate;
  Registration kernel = implement("t::f", K::CPU, gate.kernel(witness_));
  std::thread caller([&] { static_cast<void>(f_.call(x_)); });
  gate.wait_until_inside();
  kernel.undo();
  gate.open();
  caller.join();
  EXPECT_EQ(witness_.use_count(), 2) << "no one has looked since";
  const Registration other = define("t::other(Tensor x) -> Tensor");
  EXPECT_EQ(witness_.use_count(), 1);
}

TEST_F(Reclaim, AThreadThatEndsIsWaitedForNoMore) {
  std::atomic<bool> retired = false;
  Gate gate;
  Registration kernel = implement("t::f", K::CPU, gate.kernel(witness_));
  std::thread caller([&] {
    static_cast<void>(f_.call(x_));
    retired.wait(false);
  });
  gate.wait_until_inside();
  kernel.undo();
  gate.open();
  retired = true;
  retired.notify_all();
  caller.join();
  EXPECT_EQ(inspect::retired_count(), 1u) << "the thread's end frees nothing by itself";
  registry().reclaim();
  EXPECT_EQ(inspect::retired_count(), 0u);
}

// Calls once more when the thread has been forgotten already, as thread-local objects of other
// languages do.
struct LateCaller {
  const TypedOperator<Unary>& op;
  const Tensor& x;
  const Witness& witness;
  pthread_key_t key;
  Registration kernel;
  int round = 0;
  long owners_in_call = 0;

  static void run(void* memory) {
    auto& late = *static_cast<LateCaller*>(memory);
    if (late.round++ == 0) {
      pthread_setspecific(late.key, memory);  // again, when the destructors of all keys have run
      return;
    }
    static_cast<void>(late.op.call(late.x));
  }
};

TEST_F(Reclaim, AThreadThatCallsAfterItsEndIsKnownAgain) {
  LateCaller late{f_, x_, witness_, {}, {}};
  late.kernel = implement("t::f", K::CPU,
                          Kernel::from([&late, witness = witness_](const Tensor& x) -> Tensor {
                            const Tensor result = x;
                            if (LateCaller& caller = late; caller.round == 2) {
                              caller.kernel.undo();
                              caller.owners_in_call = caller.witness.use_count();
                            }
                            return result;
                          }));
  ASSERT_EQ(pthread_key_create(&late.key, LateCaller::run), 0);
  std::thread([&] {
    static_cast<void>(f_.call(x_));
    pthread_setspecific(late.key, &late);
  }).join();
  pthread_key_delete(late.key);
  EXPECT_EQ(late.round, 2);
  EXPECT_EQ(late.owners_in_call, 2) << "the kernel lives while it runs";
}

// Calls in every round of the destructors at a thread's end, the last one included.
struct CallerToTheEnd {
  const TypedOperator<Unary>& f;
  const Tensor& x;
  int rounds = 0;
  pthread_key_t key{};

  static void run(void* self) {
    auto& caller = *static_cast<CallerToTheEnd*>(self);
    ++caller.rounds;
    static_cast<void>(caller.f.call(caller.x));
    pthread_setspecific(caller.key, self);
  }
};

TEST_F(Reclaim, AThreadThatCallsInTheLastRoundOfItsEndIsForgotten) {
  Registration kernel = implement("t::f", K::CPU, holding(witness_));
  CallerToTheEnd caller{f_, x_};
  ASSERT_EQ(pthread_key_create(&caller.key, CallerToTheEnd::run), 0);
  // So large a stack is unmapped when the thread is gone, and its thread-local block with it.
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{256} << 20), 0);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* self) -> void* {
                  pthread_setspecific(static_cast<CallerToTheEnd*>(self)->key, self);
                  return nullptr;
                },
                &caller),
            0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  pthread_key_delete(caller.key);
  EXPECT_EQ(caller.rounds, PTHREAD_DESTRUCTOR_ITERATIONS);
  EXPECT_EQ(*witness_, caller.rounds);
  kernel.undo();
  EXPECT_EQ(witness_.use_count(), 1);
  EXPECT_EQ(inspect::retired_count(), 0u);
}

TEST_F(Reclaim, AnIdleThreadIsNotWaitedFor) {
  std::atomic<int> step = 0;
  const Registration below = implement("t::f", K::CPU, echo(""));
  std::thread idle([&] {
    static_cast<void>(f_.call(x_));  // known from here on
    step = 1;
    step.notify_all();
    step.wait(1);
  });
  step.wait(0);
  const Registration kernel =
      registry().implement({"t::f", ""}, K::CPU, holding(witness_), "", nullptr, true);
  const_cast<Registration&>(kernel).undo();
  EXPECT_EQ(witness_.use_count(), 1);
  step = 2;
  step.notify_all();
  idle.join();
}

TEST_F(Reclaim, AKernelMayTakeItselfBack) {
  Registration kernel;
  kernel = implement("t::f", K::CPU, Kernel::from([&kernel, witness = witness_](const Tensor& x) {
                       kernel.undo();
                       EXPECT_EQ(witness.use_count(), 2) << "what runs is not freed";
                       return x;
                     }));
  static_cast<void>(f_.call(x_));
  EXPECT_EQ(witness_.use_count(), 2);
  EXPECT_EQ(who_ran("t::f", {K::CPU}), "no kernel");
  registry().reclaim();
  EXPECT_EQ(witness_.use_count(), 1);
}

TEST_F(Reclaim, AContextMayRegisterAndUndoWhileItIsDestroyed) {
  struct Registers {
    Registration inner = implement("t::f", K::Meta, echo("inner"));
    ~Registers() { const Registration fleeting = implement("t::f", K::XLA, echo("")); }
  };
  Registration kernel =
      implement("t::f", K::CPU,
                Kernel::with_context(
                    [](const Record&, const Operator&, DispatchKeySet, Stack&) {}, new Registers,
                    [](void* context) { delete static_cast<Registers*>(context); }));
  EXPECT_EQ(who_ran("t::f", {K::Meta}), "inner");
  kernel.undo();
  EXPECT_EQ(who_ran("t::f", {K::Meta}), "no kernel");
}

// Ten thousand times; what is live after the first hundred is live at the end.
template <typename Cycle>
void expect_flat(Cycle&& cycle) {
  for (int i = 0; i < 100; ++i) cycle();
  const AllocationCount before = live_allocations();
  const long blocks = counting::live;
  const long bytes = counting::live_bytes;
  for (int i = 0; i < 10000; ++i) cycle();
  EXPECT_EQ(live_allocations().blocks, before.blocks);
  EXPECT_EQ(live_allocations().bytes, before.bytes);
  EXPECT_EQ(counting::live, blocks) << "of operator new and allocate() together";
  EXPECT_LE(counting::live_bytes, bytes + 256) << "some blocks may be a little larger than before";
  EXPECT_EQ(inspect::retired_count(), 0u);
}

TEST_F(Reclaim, MemoryIsFlatOverTenThousandOverrides) {
  const Registration below = implement("t::f", K::CPU, echo("below"));
  expect_flat([&] {
    Library library(LibraryKind::Impl, "t", K::CPU, "cycle.cpp", 1);
    library.override_kernel("f", K::CPU, holding(witness_));
    static_cast<void>(f_.call(x_));
  });
  EXPECT_EQ(*witness_, 10100);
  EXPECT_EQ(witness_.use_count(), 1);
}

TEST_F(Reclaim, MemoryIsFlatOverTenThousandDefinitionsAndFallbacks) {
  expect_flat([&] {
    const Registration op = define("t::cycle(Tensor x) -> Tensor");
    const Registration kernel = implement("t::cycle", K::CPU, holding(witness_));
  });
  expect_flat([&] {
    const Registration fallback =
        registry().implement_fallback(K::XLA, boxed_echo("fallback"), "registered here, and so on");
  });
}

TEST_F(Reclaim, MemoryIsFlatWhereALibraryReplacesItsOwnKernel) {
  Library library(LibraryKind::Impl, "t", K::CPU, "cycle.cpp", 1);
  expect_flat([&] { library.impl("f", holding(witness_)); });
  EXPECT_EQ(witness_.use_count(), 2);
}

TEST_F(Reclaim, MemoryIsFlatWhereOthersCallAllTheTime) {
  const Registration below = implement("t::f", K::CPU, echo("below"));
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> calls = 0;
  std::thread caller([&] {
    for (; !stop; ++calls) static_cast<void>(f_.call(x_));
  });
  const AllocationCount before = live_allocations();
  std::size_t most = 0;
  for (int i = 0; i < 10000; ++i) {
    // A thread that is kept from running in mid-call holds all that was retired since.
    if (i % 100 == 0) {
      for (const std::uint64_t seen = calls; calls < seen + 2;) std::this_thread::yield();
    }
    const Registration kernel =
        registry().implement({"t::f", ""}, K::CPU, holding(witness_), "", nullptr, true);
    most = std::max(most, inspect::retired_count());
  }
  stop = true;
  caller.join();
  registry().reclaim();
  EXPECT_LT(most, 5000u) << "records are freed on the way";
  EXPECT_EQ(live_allocations().blocks, before.blocks);
  EXPECT_EQ(witness_.use_count(), 1);
}

}  // namespace
}  // namespace opyard::test_reclaim
