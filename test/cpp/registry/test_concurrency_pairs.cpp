// test_concurrency_pairs.cpp: protects every kind of operation against every other, itself
// included, on other threads (B36). What it is about is what the thread sanitizer says; without it
// the test looks for crashes, hangs and wrong answers.
// Suspect dispatcher/src/registry/registry.cpp and reclaim.cpp.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <filesystem>
#include <functional>
#include <latch>
#include <thread>

#include "../dropped_warnings.h"
#include "../expect_fair.h"
#include "../registering.h"
#include "opyard/inspect/explain.h"
#include "opyard/inspect/inspect.h"
#include "opyard/observe/observer.h"
#include "opyard/plugin/plugin.h"
#include "opyard/registry/library.h"
#include "opyard/registry/listener.h"

namespace opyard::test_concurrency_pairs {
namespace {

using K = DispatchKey;
using Unary = Tensor(const Tensor&);

constexpr int kThreads = 2;  // of each kind
#if defined(__SANITIZE_THREAD__)
constexpr int kRounds = 400;
#else
constexpr int kRounds = 400;
#endif

std::string plugin_file() {
  namespace fs = std::filesystem;
  const fs::path folder = fs::canonical("/proc/self/exe").parent_path() / "plugins";
  return (folder / "libtest_plugin_a.so").string();
}

class Quiet : public Observer {
 public:
  void on_enter(const Operator&, DispatchKeySet, const Stack*) noexcept override {}
  void on_exit(const Operator&, bool, const Stack*) noexcept override {}
};

struct Handles {
  TypedOperator<Unary> stable = registry().require("t::stable").typed<Unary>();
  const Operator& brief = registry().require("t::brief");
};

// One operation a line. `mine` tells the threads of a kind apart.
using Operation = void (*)(const Handles& handles, int mine, int round);
struct Kind {
  const char* name;
  Operation run;
};

void call(const Handles& handles, int, int) {
  const Tensor x = tensor_with({K::CPU, K::AutogradCPU});
  EXPECT_TRUE(handles.stable.call(x).same(x));
}
void call_boxed(const Handles& handles, int, int round) {
  InlineStack<1> stack;
  stack.push(Value(tensor_with({K::CPU})));
  const Operator& op = round % 2 == 0 ? handles.brief : handles.stable.op();
  expect_fair([&] { op.call_boxed(stack); });
}
void define(const Handles&, int mine, int) {
  const Registration op = opyard::define("t::fresh" + std::to_string(mine) + "(Tensor x) -> Tensor",
                                         "registered at pair.cpp:1");
}
void implement(const Handles&, int, int round) {
  thread_local std::deque<Registration> kept;  // unregistered later, or by the end of the thread
  kept.push_back(opyard::implement("t::stable", round % 2 == 0 ? K::Meta : K::Tracer,
                                   round % 2 == 0 ? echo("meta") : Kernel::fallthrough()));
  if (kept.size() > 8) kept.pop_front();
}
void remove(const Handles&, int, int) {
  Registration brief;
  try {
    brief = opyard::define("t::brief(Tensor x) -> Tensor");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadRegistration) << "another thread has defined it";
  }
  Registration kernel = opyard::implement("t::brief", K::CPU, echo("brief"));
  brief.undo();
  kernel.undo();
}
void override_kernel(const Handles&, int, int) {
  Library library(LibraryKind::Impl, "t", K::CPU, "pair.cpp", 2);
  library.override_kernel("stable", K::CPU, echo("over"));
}
void look_up(const Handles& handles, int, int) {
  EXPECT_EQ(registry().find({"t::stable", ""}), &handles.stable.op());
  expect_fair([&] { static_cast<void>(registry().require("t::brief").typed<Unary>()); });
  static_cast<void>(inspect::has_computed_kernel({"t::stable", ""}, K::XLA));
}
void guard(const Handles& handles, int, int) {
  const IncludeDispatchKeyGuard include(K::Tracer);
  const ExcludeDispatchKeyGuard exclude(DispatchKeySet(K::AutogradFunctionality));
  const Tensor x = tensor_with({K::CPU, K::AutogradCPU});
  EXPECT_TRUE(handles.stable.call(x).same(x));
}
void observe(const Handles& handles, int, int) {
  Quiet observer;
  const ObserverGuard observing(observer);
  const Tensor x = tensor_with({K::CPU});
  EXPECT_TRUE(handles.stable.call(x).same(x));
}
void load_a_library(const Handles&, int, int round) {
  if (round % 8 != 0) return;
  load_library(plugin_file());
  expect_fair([&] { static_cast<void>(unload_library(plugin_file())); });
}
void list(const Handles&, int, int) {
  static_cast<void>(inspect::names().size() + inspect::overloads("t::stable").size());
  static_cast<void>(dump("t::stable").size() + dump_table("t::brief").size());
  static_cast<void>(inspect::dangling().size() + loaded_libraries().size());
  inspect::check_invariants();
}
void explain_one(const Handles& handles, int, int) {
  const std::vector<Value> arguments{Value(tensor_with({K::CPU}))};
  EXPECT_TRUE(explain(handles.stable.op(), arguments).has_kernel);
}
void listen(const Handles&, int, int) {
  const Registration listening =
      registry().listen({[](const Operator& op) { static_cast<void>(op.declaration().size()); },
                         [](const Operator& op) { static_cast<void>(op.declaration().size()); }});
}

constexpr Kind kKinds[] = {
    {"call", call},       {"call boxed", call_boxed},
    {"define", define},   {"implement", implement},
    {"remove", remove},   {"override", override_kernel},
    {"look up", look_up}, {"guard", guard},
    {"observe", observe}, {"load a library", load_a_library},
    {"list", list},       {"explain", explain_one},
    {"listen", listen},
};
constexpr int kKindCount = int(std::size(kKinds));
constexpr int kPairCount = kKindCount * (kKindCount + 1) / 2;

void run_pair(const Handles& handles, const Kind& one, const Kind& other) {
  std::latch together(2 * kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2 * kThreads; ++i) {
    threads.emplace_back([&, i] {
      const Kind& kind = i % 2 == 0 ? one : other;
      together.arrive_and_wait();
      for (int round = 0; round < kRounds; ++round) kind.run(handles, i, round);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ConcurrencyPairs, B36_EveryKindOfOperationAgainstEveryOther) {
  const DroppedWarnings warnings;
  const Registration stable = opyard::define("t::stable(Tensor x) -> Tensor");
  const Registration cpu = opyard::implement("t::stable", K::CPU, echo("cpu"));
  Registration brief = opyard::define("t::brief(Tensor x) -> Tensor");
  const Handles handles;
  brief.undo();
  int pairs = 0;
  for (int one = 0; one < kKindCount; ++one) {
    for (int other = one; other < kKindCount; ++other, ++pairs) {
      SCOPED_TRACE(std::string(kKinds[one].name) + " against " + kKinds[other].name);
      run_pair(handles, kKinds[one], kKinds[other]);
      inspect::check_invariants();
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(pairs, kPairCount);
  registry().reclaim();
  EXPECT_EQ(inspect::retired_count(), 0u);
  EXPECT_TRUE(loaded_libraries().empty());
}

}  // namespace
}  // namespace opyard::test_concurrency_pairs
