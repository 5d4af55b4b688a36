// test_concurrency_jit.cpp: protects codes that several threads run at once, each in a state of
// its own, and states that go from one thread to another; also under the thread sanitizer.
// Suspect jit/src/code/code.cpp and interpreter_state.cpp.
#include <gtest/gtest.h>

#include <atomic>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../jit.h"
#include "../on_threads.h"
#include "opyard/jit/interpreter_state.h"
#include "opyard/parallel.h"

namespace opyard::jit::test_concurrency_jit {
namespace {

constexpr int kRounds = rounds(500);
constexpr int kThreads = 4;

// Ints, lists and jumps: instructions that call no operator.
constexpr const char* kLoop = R"(graph(%n : int):
  %true : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %list : int[] = prim::ListConstruct(%zero)
  %sum : int, %last : int[] = prim::Loop(%n, %true, %zero, %list)
    block0(%i : int, %u : int, %l : int[]):
      %s : int = aten::add(%u, %i)
      %m : int[] = prim::ListConstruct(%s, %i)
      -> (%true, %s, %m)
  return (%sum, %last)
)";

TEST(ConcurrencyJit, H34_StatesOfOneCodeOnSeveralThreads) {
  const CodePtr code = compile(graph_of(kLoop));
  on_threads(kThreads, [&](int) {
    for (int round = 0; round < kRounds; ++round) {
      InterpreterState state(code);
      Values outputs;
      state.run_one_stage(Values{100}, outputs);
      ASSERT_EQ(text_of(outputs), "4950; [4950, 99]");
    }
  });
}

TEST(ConcurrencyJit, H34_OneInputInTheStatesOfAllThreads) {
  const CodePtr code = compile(graph_of(R"(graph(%x : Tensor):
  %1 : Tensor = aten::mul(%x, %x)
  return (%1)
stage 1():
  %2 : Tensor = aten::mul(%1, %x)
  return (%2)
)"));
  const Tensor shared = f32({2}, {2, 3});
  on_threads(kThreads, [&](int) {
    for (int round = 0; round < kRounds; ++round) {
      InterpreterState state(code);
      Values outputs;
      state.run_one_stage(Values{shared}, outputs);
      ASSERT_EQ(text_of(outputs), "float32[2] 4 9");
      InterpreterState twin = state.clone();
      twin.run_one_stage(Values{}, outputs);
      ASSERT_EQ(text_of(outputs), "float32[2] 8 27");
      state.run_one_stage(Values{}, outputs);
      ASSERT_EQ(text_of(outputs), "float32[2] 8 27");
    }
  });
}

TEST(ConcurrencyJit, ACodeIsRunDirectlyWhileStatesOfItRun) {
  const CodePtr code = compile(graph_of(kLoop));
  on_threads(kThreads, [&](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      if (thread % 2 == 0) {
        ASSERT_EQ(text_of(code->run(Values{10})), "45; [45, 9]");
        continue;
      }
      InterpreterState state(code);
      state.measure(true);
      state.begin_stage(Values{10});
      while (state.step()) {
      }
      Values outputs;
      state.resume(outputs);
      ASSERT_EQ(text_of(outputs), "45; [45, 9]");
    }
  });
}

TEST(ConcurrencyJit, AStateMayGoOnInAnotherThread) {
  const CodePtr code = compile(graph_of(kLoop));
  for (int round = 0; round < kRounds / 10; ++round) {
    InterpreterState state(code);
    state.begin_stage(Values{20});
    for (int i = 0; i < 15; ++i) ASSERT_TRUE(state.step());
    std::thread([&] {
      Values outputs;
      state.resume(outputs);
      EXPECT_EQ(text_of(outputs), "190; [190, 19]");
    }).join();
  }
}

TEST(ConcurrencyJit, H34_OfThreadsThatEnterOneStateOneRunsIt) {
  const CodePtr code = compile(graph_of(kLoop));
  for (int round = 0; round < rounds(200); ++round) {
    InterpreterState state(code);
    std::atomic<int> ready{0}, ran{0};
    on_threads(kThreads, [&](int) {
      ready.fetch_add(1);
      while (ready.load() < kThreads) std::this_thread::yield();
      Values outputs;
      try {
        state.run_one_stage(Values{500}, outputs);
        ran.fetch_add(1);
        EXPECT_EQ(outputs.front().to_int(), 124750);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadGraph);  // it is in use, or past its end
      }
    });
    ASSERT_EQ(ran.load(), 1);
    ASSERT_TRUE(state.is_finished());
  }
}

// One who reads a state that another thread runs sees an error, never a value that dies meanwhile.
TEST(ConcurrencyJit, H34_AStateThatRunsIsNotRead) {
  const CodePtr code = compile(graph_of(kLoop));
  const jit::Value* const last = code->graph().outputs()[1];
  for (int round = 0; round < rounds(20); ++round) {
    InterpreterState state(code);
    std::atomic<bool> has_ended{false};
    on_threads(kThreads, [&](int thread) {
      if (thread == 0) {
        while (!state.is_finished()) {
          Values outputs;
          try {
            state.measure(true);
            state.run_one_stage(Values{500}, outputs);
          } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::BadGraph);  // it is being read
          }
        }
        has_ended.store(true);
        return;
      }
      while (!has_ended.load()) {
        const auto is_read = [](auto&& reading) {
          try {
            reading();
          } catch (const Error& error) {
            EXPECT_NE(std::string_view(error.what()).find("in use"), std::string_view::npos);
          }
        };
        is_read([&] { state.read(last); });
        is_read([&] { state.live_values(); });
        is_read([&] { state.save(); });
        is_read([&] { state.times(); });
        std::this_thread::yield();
      }
    });
  }
}

TEST(ConcurrencyJit, ForksOfStatesOnSeveralThreadsShareThePool) {
  set_thread_count(3);
  const CodePtr code = compile(graph_of(R"(graph(%x : Tensor):
  %2 : Future(Tensor) = prim::fork_0(%x)
  %3 : Future(Tensor) = prim::fork_1(%x)
  %4 : Tensor = aten::wait(%2)
  %5 : Tensor = aten::wait(%3)
  %6 : Tensor = aten::mul(%4, %5)
  return (%6)
with prim::fork_0 = graph(%x : Tensor):
  %1 : Tensor = aten::mul(%x, %x)
  return (%1)
with prim::fork_1 = graph(%x : Tensor):
  %1 : Tensor = aten::mul(%x, %x)
  return (%1)
)"));
  on_threads(kThreads, [&](int) {
    for (int round = 0; round < kRounds; ++round) {
      ASSERT_EQ(text_of(code->run(Values{f32({2}, {2, 3})})), "float32[2] 16 81");
    }
  });
}

TEST(ConcurrencyJit, GraphsAreCompiledAndDroppedWhileOthersRun) {
  load_operators();
  on_threads(kThreads, [&](int) {
    for (int round = 0; round < kRounds / 10; ++round) {
      ASSERT_EQ(run_text(kLoop, {10}), "45; [45, 9]");
    }
  });
}

}  // namespace
}  // namespace opyard::jit::test_concurrency_jit
