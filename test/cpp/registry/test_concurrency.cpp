// test_concurrency.cpp: protects calls against registrations and removals on other threads (B36).
// Suspect dispatcher/src/registry/registry.cpp and reclaim.cpp.
//
// Four readers call, look up, explain and dump while two writers override, take back, define,
// undefine and register fallbacks. The thread sanitizer sees every access; without it, each
// kernel checks that its context is alive. OPYARD_TEST_SECONDS says how long the readers and
// writers run; the default is ten seconds under the thread sanitizer and two without.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "../dropped_warnings.h"
#include "../expect_fair.h"
#include "../registering.h"
#include "opyard/inspect/explain.h"
#include "opyard/inspect/inspect.h"
#include "opyard/observe/observer.h"
#include "opyard/registry/library.h"

namespace opyard::test_concurrency {
namespace {

using K = DispatchKey;
using Unary = Tensor(const Tensor&);

#if defined(__SANITIZE_THREAD__)
constexpr double kSeconds = 10;
#else
constexpr double kSeconds = 2;
#endif

std::chrono::duration<double> how_long() {
  const char* said = std::getenv("OPYARD_TEST_SECONDS");
  return std::chrono::duration<double>(said != nullptr ? std::atof(said) : kSeconds);
}

// What a kernel carries: alive from the constructor to the destructor. The number is a plain
// one, so that a call that still reads it while it is destroyed is a race.
struct Context {
  static constexpr long kAlive = 0x600d600d;
  static inline std::atomic<long> count = 0;

  Context() { ++count; }
  Context(const Context&) { ++count; }
  ~Context() {
    state = 0;
    --count;
  }
  long state = kAlive;
};

std::atomic<long> dead_contexts = 0;

Kernel checking() {
  return Kernel::from([context = Context()](const Tensor& x) -> Tensor {
    if (context.state != Context::kAlive) ++dead_contexts;
    return x;
  });
}
// Checks before and after the call goes on below.
Kernel checking_layer(K key) {
  return Kernel::with_context(
      [](const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack) {
        const auto& context = *static_cast<const std::pair<Context, K>*>(record.context);
        op.redispatch_boxed(keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, context.second),
                            stack);
        if (context.first.state != Context::kAlive) ++dead_contexts;
      },
      new std::pair<Context, K>(Context(), key),
      [](void* context) { delete static_cast<std::pair<Context, K>*>(context); });
}

class Quiet : public Observer {
 public:
  void on_enter(const Operator&, DispatchKeySet, const Stack*) noexcept override { ++seen; }
  void on_exit(const Operator&, bool, const Stack*) noexcept override { --seen; }
  int seen = 0;
};

class Concurrency : public testing::Test {
 protected:
  // Runs the roles on threads of their own until the time is up. Gives the rounds of each.
  std::vector<long> run(std::vector<std::function<void(long)>> roles) {
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    std::vector<long> rounds(roles.size());
    for (std::size_t i = 0; i < roles.size(); ++i) {
      threads.emplace_back([&, i] {
        while (!stop.load(std::memory_order_relaxed)) roles[i](rounds[i]++);
      });
    }
    std::this_thread::sleep_for(how_long());
    stop = true;
    for (std::thread& thread : threads) thread.join();
    return rounds;
  }

  // One round of a reader: everything that only reads.
  void read(long round) const {
    const Tensor x = tensor_with({K::CPU, K::AutogradCPU});
    expect_fair([&] { EXPECT_TRUE(stable_.call(x).same(x)); });
    expect_fair([&] { EXPECT_TRUE(comes_and_goes_.call(x).same(x)); });
    expect_fair([&] { EXPECT_TRUE(stable_.redispatch(K::CPU, x).same(x)); });
    expect_fair([&] {
      InlineStack<1> stack;
      stack.push(Value(x));
      (round % 2 == 0 ? stable_ : comes_and_goes_).op().call_boxed(stack);
      EXPECT_TRUE(stack.peek().to_tensor().same(x));
    });
    {
      Quiet observer;
      const ObserverGuard observe(observer);
      const IncludeDispatchKeyGuard include(DispatchKeySet{K::Tracer, K::Python});
      const ExcludeDispatchKeyGuard exclude(DispatchKeySet(K::AutogradFunctionality));
      expect_fair([&] { EXPECT_TRUE(stable_.call(x).same(x)); });
      EXPECT_EQ(observer.seen, 0);
    }
    if (round % 16 == 0) {
      expect_fair(
          [&] { static_cast<void>(registry().require("t::comes_and_goes").declaration()); });
      expect_fair(
          [&] { static_cast<void>(registry().require("t::comes_and_goes").typed<Unary>()); });
      static_cast<void>(explain(stable_.op(), std::vector{Value(x)}));
      static_cast<void>(dump("t::stable").size() + dump_table("t::comes_and_goes").size());
      static_cast<void>(inspect::names());
      inspect::check_invariants();
    }
    if (round % 64 == 0) {
      std::thread([&] { expect_fair([&] { static_cast<void>(stable_.call(x)); }); }).join();
    }
  }

  // One round of the writer that overrides and takes back, in changing order.
  static void override_and_take_back(long round) {
    Library library(LibraryKind::Impl, "t", std::nullopt, "writer.cpp", 1);
    library.override_kernel("stable", K::CPU, checking());
    Registration layer = implement("t::stable", K::Tracer, checking_layer(K::Tracer));
    const Registration autograd =
        implement("t::stable", K::AutogradCPU, round % 2 == 0 ? checking() : Kernel::fallthrough());
    const Registration early = implement("t::comes_and_goes", K::CPU, checking());
    if (round % 3 == 0) library.reset();
    if (round % 3 == 1) layer.undo();
  }

  // One round of the writer that defines, undefines, and registers fallbacks.
  static void define_and_take_back(long round) {
    Registration python =
        registry().implement_fallback(K::Python, checking_layer(K::Python), "writer.cpp:2");
    Registration op = define("t::comes_and_goes(Tensor x) -> Tensor");
    const Registration kernel = implement("t::comes_and_goes", K::Meta, checking());
    if (round % 2 == 0) python.undo();
    if (round % 3 == 0) op.undo();
    const Registration autograd = registry().implement_fallback(
        K::AutogradXLA, round % 2 == 0 ? Kernel::fallthrough() : checking_layer(K::AutogradXLA),
        "");
  }

  // Every override of another owner would warn; who covers is not what is tested here.
  const DroppedWarnings warnings_;
  const Registration op_ = define("t::stable(Tensor x) -> Tensor");
  const Registration base_ = implement("t::stable", K::CPU, checking());
  const TypedOperator<Unary> stable_ = registry().require("t::stable").typed<Unary>();
  const TypedOperator<Unary> comes_and_goes_ = [] {
    const Registration once = define("t::comes_and_goes(Tensor x) -> Tensor");
    return registry().require("t::comes_and_goes").typed<Unary>();
  }();
};

TEST_F(Concurrency, B36_FourReadersAgainstTwoWriters) {
  const auto reader = [this](long round) { read(round); };
  const std::vector<long> rounds =
      run({reader, reader, reader, reader, override_and_take_back, define_and_take_back});
  for (const long count : rounds) EXPECT_GT(count, 10) << "every thread came to its turn";
  EXPECT_EQ(dead_contexts, 0) << "a kernel was destroyed while it ran";
  inspect::check_invariants();
  registry().reclaim();
  EXPECT_EQ(inspect::retired_count(), 0u);
  EXPECT_EQ(Context::count, 1) << "that of the kernel which is still registered";
}

#if defined(__SANITIZE_THREAD__)

// What reclamation prevents, done by hand: the record is read outside of a call, so that the
// writer does not wait for it. The sanitizer must see it, else its silence above means nothing.
void read_a_record_without_a_call() {
  const Registration op = define("t::planted(Tensor x) -> Tensor");
  Registration kernel = implement("t::planted", K::CPU, checking());
  const Operator& planted = registry().require("t::planted");
  std::atomic<int> step = 0;  // relaxed, so that it orders nothing
  const auto wait_for = [&](int wanted) {
    while (step.load(std::memory_order_relaxed) != wanted) std::this_thread::yield();
  };
  std::thread reader([&] {
    const Record& record = planted.record(DispatchKeySet(K::CPU));
    step.store(1, std::memory_order_relaxed);
    wait_for(2);
    if (static_cast<const Context*>(record.context)->state != Context::kAlive) ++dead_contexts;
  });
  wait_for(1);
  kernel.undo();
  step.store(2, std::memory_order_relaxed);
  reader.join();
}

TEST(ConcurrencyControl, ARecordThatIsReadOutsideOfACallIsFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(read_a_record_without_a_call(), "data race|use-after-free");
}

#endif

}  // namespace
}  // namespace opyard::test_concurrency
