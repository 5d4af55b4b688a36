// test_watch.cpp: protects that watchers are told of every kernel on every thread, and that tables are what they
// were when no one watches. Suspect dispatcher/src/registry/watching.cpp and observed_call.cpp.
#include "opyard/detail/registry/watch.h"
#include "opyard/inspect/inspect.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/registry/dispatch_log.h"

namespace opyard::test_watch {
namespace {

using K = DispatchKey;
using Unary = Tensor(const Tensor&);

// Writes down what it is told: "call t::f CPU", "end t::f". Lives for ever, as watchers have to.
class Notes final : public Watcher {
 public:
  bool wants = false;
  bool wants_values() const noexcept override { return wants; }
  void on_enter(const KernelRun& kernel, std::span<const Value> arguments) noexcept override {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::string(kernel.redispatch ? "redispatch " : "call ") +
                     to_string(kernel.op.name()) + " " +
                     to_string(key_of_slot(runtime_index(kernel.keys))) + " from " +
                     kernel.record.provenance.str() +
                     (kernel.boxed ? ", " + std::to_string(arguments.size()) + " values" : ""));
  }
  void on_exit(const KernelRun& kernel) noexcept override {
    const std::lock_guard lock(mutex_);
    lines_.push_back("end " + to_string(kernel.op.name()));
  }
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

Notes& notes() {
  static Notes& all = *new Notes;
  return all;
}

// Watches a body and gives what was told.
template <typename Body>
std::vector<std::string> told(Body&& body, bool values = false) {
  notes().wants = values;
  notes().take();
  start_watching(notes());
  inspect::check_invariants();
  body();
  stop_watching(notes());
  inspect::check_invariants();
  return notes().take();
}

using Lines = std::vector<std::string>;

class Watch : public testing::Test {
 protected:
  const Registration op_ = define("t::f(Tensor x) -> Tensor");
  const Registration cpu_ = implement("t::f", K::CPU, echo("cpu"), "cpu.cpp:1");
  const Registration autograd_ = implement(
      "t::f", K::AutogradCPU, Kernel::from([](DispatchKeySet keys, const Tensor& x) -> Tensor {
        return registry().require("t::f").typed<Unary>().redispatch(
            keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, K::AutogradCPU), x);
      }),
      "autograd.cpp:2");
  const Tensor x_ = tensor_with({K::CPU, K::AutogradCPU});
  const Lines whole_{"call t::f AutogradCPU from autograd.cpp:2",
                     "redispatch t::f CPU from cpu.cpp:1", "end t::f", "end t::f"};
};

TEST_F(Watch, X22_EachKernelOfATypedCallIsToldWithKeyProvenanceAndWhetherItWasPassedOn) {
  const auto f = registry().require("t::f").typed<Unary>();
  Tensor result;
  EXPECT_EQ(told([&] { result = f.call(x_); }), whole_);
  EXPECT_TRUE(result.same(x_));
}

TEST_F(Watch, X22_BoxedCallsAndCallsFromRegistersAreToldTheSame) {
  const Operator& op = registry().require("t::f");
  Lines boxed = whole_;
  boxed[0] += ", 1 values";
  EXPECT_EQ(told([&] {
              InlineStack<4> stack;
              stack.push(Value(x_));
              op.call_boxed(stack);
              EXPECT_TRUE(stack.peek().tensor_unchecked().same(x_));
            }),
            boxed);
  EXPECT_EQ(told([&] {
              const Value argument(x_);
              Value result;
              const Value* arguments[] = {&argument};
              Value* results[] = {&result};
              op.call_from_registers({arguments, results, 0});
              EXPECT_TRUE(result.tensor_unchecked().same(x_));
            }),
            whole_);
}

TEST_F(Watch, I36_WhoWantsValuesGetsThoseOfTypedCalls) {
  const auto f = registry().require("t::f").typed<Unary>();
  Lines with = whole_;
  with[0] += ", 1 values";
  with[1] += ", 1 values";
  EXPECT_EQ(told([&] { f.call(x_); }, true), with);
}

TEST_F(Watch, X15_ThreadsThatRunAndThreadsThatStartLaterAreTold) {
  const auto f = registry().require("t::f").typed<Unary>();
  std::atomic<bool> begin{false};
  std::thread running([&] {
    f.call(x_);
    while (!begin) std::this_thread::yield();
    f.call(x_);
  });
  const Lines all = told([&] {
    begin = true;
    running.join();
    std::thread([&] { f.call(x_); }).join();
  });
  EXPECT_GE(all.size(), 8u);
  EXPECT_TRUE(std::equal(whole_.begin(), whole_.end(), all.end() - 4));
}

TEST_F(Watch, RegistrationsMayComeAndGoMeanwhile) {
  const Tensor x = tensor_with({K::CPU});
  EXPECT_EQ(told([&] {
              Registration over = registry().implement({"t::f", ""}, K::CPU, echo("over"),
                                                       "over.cpp:3", nullptr, true);
              EXPECT_EQ(who_ran("t::f", {K::CPU}), "over");
              over.undo();
              EXPECT_EQ(who_ran("t::f", {K::CPU}), "cpu");
              Registration fresh = define("t::fresh(Tensor x) -> Tensor");
              EXPECT_EQ(who_ran("t::fresh", {K::CPU}), "no kernel");
              fresh.undo();
            }),
            (Lines{"call t::f CPU from over.cpp:3, 1 values", "end t::f",
                   "call t::f CPU from cpu.cpp:1, 1 values", "end t::f",
                   "call t::fresh CPU from no kernel, 1 values", "end t::fresh"}));
}

TEST_F(Watch, ACallThatThrowsEndsAndTheNextOneIsACallAgain) {
  const Registration fails = implement(
      "t::f", K::Meta,
      Kernel::from([](const Tensor&) -> Tensor { throw std::runtime_error("no"); }), "meta.cpp:4");
  const auto f = registry().require("t::f").typed<Unary>();
  EXPECT_EQ(told([&] {
              EXPECT_THROW(f.call(tensor_with({K::Meta})), std::runtime_error);
              EXPECT_THROW(f.call(tensor_with({K::Meta})), std::runtime_error);
            }),
            (Lines{"call t::f Meta from meta.cpp:4", "end t::f", "call t::f Meta from meta.cpp:4",
                   "end t::f"}));
}

TEST_F(Watch, OffTheTablesAreWhatTheyWere) {
  const Operator& op = registry().require("t::f");
  const auto records = [&] {
    std::vector<const Record*> all;
    for (unsigned slot = 0; slot < unsigned(kSlotCount); ++slot) {
      all.push_back(&op.record(DispatchKeySet(key_of_slot(slot))));
    }
    return all;
  };
  const std::vector<const Record*> before = records();
  const std::uint64_t mask = op.mask().raw();
  std::size_t watched = 0;
  told([&] {
    for (const Record* record : records()) watched += record->role == RecordRole::Watch;
    EXPECT_EQ(op.mask().raw(), mask);
  });
  EXPECT_GT(watched, 10u);
  EXPECT_EQ(records(), before);
}

TEST_F(Watch, TheDispatchLogIsAWatcherBesideOthers) {
  const auto f = registry().require("t::f").typed<Unary>();
  testing::internal::CaptureStderr();
  set_dispatch_log(true);
  EXPECT_EQ(told([&] { f.call(x_); }), whole_);
  f.call(tensor_with({K::CPU}));
  set_dispatch_log(false);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            " [call] op=[t::f], key=[AutogradCPU]\n  [redispatch] op=[t::f], key=[CPU]\n"
            " [call] op=[t::f], key=[CPU]\n");
  EXPECT_EQ(registry().require("t::f").record(DispatchKeySet(K::CPU)).role, RecordRole::Kernel);
}

TEST_F(Watch, StartingAndStoppingWhileThreadsCallAndRegister) {
  static Notes& second = *new Notes;
  std::atomic<bool> end{false};
  std::vector<std::thread> threads;
  for (int n = 0; n < 3; ++n) {
    threads.emplace_back([&] {
      const auto f = registry().require("t::f").typed<Unary>();
      while (!end) EXPECT_TRUE(f.call(x_).same(x_));
    });
  }
  threads.emplace_back([&] {
    while (!end) {
      const Registration over =
          registry().implement({"t::f", ""}, K::CPU, echo("over"), "over.cpp:3", nullptr, true);
    }
  });
  for (int n = 0; n < 200; ++n) {
    start_watching(notes());
    start_watching(second);
    inspect::check_invariants();
    stop_watching(notes());
    stop_watching(second);
    inspect::check_invariants();
  }
  end = true;
  for (std::thread& thread : threads) thread.join();
  int depth = 0;
  for (const std::string& line : second.take()) depth += line.starts_with("end") ? -1 : 1;
  EXPECT_EQ(depth, 0) << "a watcher that was told of a start is told of its end";
  notes().take();
}

// Watchers have their places for ever, so in a process of its own.
TEST_F(Watch, ANinthWatcherIsRefused) {
  const auto start_nine = [] {
    auto* const more = new Notes[9];
    for (int n = 0; n < 9; ++n) start_watching(more[n]);
  };
  EXPECT_EXIT(
      {
        const bool refused = thrown_by(start_nine).kind == ErrorKind::Unsupported;
        inspect::check_invariants();
        std::_Exit(refused ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace opyard::test_watch
