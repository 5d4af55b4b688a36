// test_jit_fork.cpp: protects prim::fork and aten::wait: their results, their text, their errors, and what
// a fork holds. Suspect jit/src/code/fork.cpp.
#include <gtest/gtest.h>

#include <latch>

#include "../jit.h"
#include "../thrown_by.h"
#include "opyard/jit/interpreter_state.h"
#include "opyard/parallel.h"

namespace opyard::jit::test_jit_fork {
namespace {

constexpr const char* kTwoForks = R"(graph(%x : Tensor,
      %n : int):
  %2 : Future(Tensor) = prim::fork_0(%x)
  %3 : Future((Tensor, int)) = prim::fork_1(%x, %n)
  %4 : Tensor = aten::wait(%2)
  %5 : (Tensor, int) = aten::wait(%3)
  %6 : Tensor, %7 : int = prim::TupleUnpack(%5)
  %8 : Tensor = aten::mul(%4, %6)
  return (%8, %7)
with prim::fork_0 = graph(%x : Tensor):
  %1 : Tensor = aten::mul(%x, %x)
  return (%1)
with prim::fork_1 = graph(%x : Tensor,
      %n : int):
  %2 : int = aten::add(%n, %n)
  return (%x, %2)
)";

TEST(Fork, H10_H15_ItsTextIsTorchScripts) { EXPECT_EQ(to_string(*graph_of(kTwoForks)), kTwoForks); }

TEST(Fork, RunsItsGraphAndGivesAFuture) {
  for (const int size : {1, 3}) {
    set_thread_count(size);
    for (int i = 0; i < 50; ++i) {
      ASSERT_EQ(run_text(kTwoForks, {f32({2}, {2, 3}), 4}), "float32[2] 8 27; 8");
    }
  }
  const GraphPtr copy = graph_of(kTwoForks)->copy();
  EXPECT_EQ(text_of(compile(copy)->run(Values{f32({2}, {2, 3}), 4})), "float32[2] 8 27; 8");
  EXPECT_NE(compile(copy)->disassemble().find("Fork"), std::string::npos);
}

TEST(Fork, StagesMayWaitForForksOfThoseBefore) {
  InterpreterState state(compile(graph_of(R"(graph(%x : Tensor):
  %1 : Future(Tensor) = prim::fork_0(%x)
  return ()
stage 1():
  %2 : Tensor = aten::wait(%1)
  return (%2)
with prim::fork_0 = graph(%x : Tensor):
  %1 : Tensor = aten::mul(%x, %x)
  return (%1)
)")));
  Values outputs;
  state.run_one_stage(Values{f32({1}, {3})}, outputs);
  InterpreterState twin = state.clone();
  state.run_one_stage({}, outputs);
  EXPECT_EQ(text_of(outputs), "float32[1] 9");
  twin.run_one_stage({}, outputs);
  EXPECT_EQ(text_of(outputs), "float32[1] 9") << "both states wait for the one fork";
}

// Forks inside forks, each waiting for the next: deeper than the pool has threads.
TEST(Fork, ForksMayWaitForForks) {
  set_thread_count(1);
  std::string text = R"(graph(%n : int):
  %1 : Future(int) = prim::fork_0(%n)
  %2 : int = aten::wait(%1)
  return (%2)
)";
  constexpr int kDepth = 100;
  for (int i = 0; i < kDepth; ++i) {
    text += "with prim::fork_" + std::to_string(i) + " = graph(%n : int):\n";
    text += "  %one : int = prim::Constant[value=1]()\n  %m : int = aten::add(%n, %one)\n";
    if (i + 1 < kDepth) {
      text += "  %f : Future(int) = prim::fork_" + std::to_string(i + 1) + "(%m)\n";
      text += "  %r : int = aten::wait(%f)\n  return (%r)\n";
    } else {
      text += "  return (%m)\n";
    }
  }
  EXPECT_EQ(run_text(text, {0}), std::to_string(kDepth));
}

TEST(Fork, ItsErrorComesOutOfTheWaitWithBothPlaces) {
  const CodePtr code = compile(graph_of(R"(graph(%x : Tensor,
      %y : Tensor):
  %f : Future(Tensor) = prim::fork_0(%x, %y)
  %z : Tensor = aten::wait(%f)
  return (%z)
with prim::fork_0 = graph(%a : Tensor,
      %b : Tensor):
  %c : Tensor = aten::mul(%a, %b)
  return (%c)
)"));
  const Thrown thrown =
      thrown_by([&] { code->run(Values{f32({2}, {1, 2}), f32({3}, {1, 2, 3})}); });
  EXPECT_EQ(thrown.kind, ErrorKind::BadShape);
  for (const char* const part :
       {"in %c : Tensor = aten::mul(%a, %b) (stage 0, <graph>:8:3), where %a is",
        "in the graph that was begun by %f = prim::fork (stage 0, <graph>:3:3)",
        "in %z : Tensor = aten::wait(%f) (stage 0, <graph>:4:3)"}) {
    EXPECT_NE(thrown.text.find(part), std::string::npos) << part << "\n" << thrown.text;
  }
  // The state is at the wait, and can be asked again.
  InterpreterState state(code);
  Values outputs;
  const Values inputs = {f32({2}, {1, 2}), f32({3}, {1, 2, 3})};
  EXPECT_THROW(state.run_one_stage(inputs, outputs), Error);
  EXPECT_EQ(state.node()->kind(), aten::wait);
  EXPECT_THROW(state.resume(outputs), Error);
}

TEST(Fork, MayOutliveItsStateItsCodeAndItsGraph) {
  set_thread_count(1);
  std::latch go(1);
  const auto blocker = start_task([&] { go.wait(); });
  opyard::Value future;
  Tensor x = f32({1}, {5});
  {
    const CodePtr code = compile(graph_of(R"(graph(%x : Tensor):
  %1 : Future(Tensor) = prim::fork_0(%x)
  return (%1)
with prim::fork_0 = graph(%x : Tensor):
  %1 : Tensor = aten::mul(%x, %x)
  return (%1)
)"));
    InterpreterState state(code);
    Values outputs;
    state.run_one_stage(Values{x}, outputs);
    future = outputs[0];
  }
  EXPECT_EQ(future.to_future().completed(), false);
  go.count_down();
  EXPECT_EQ(show(future.to_future().wait(std::chrono::minutes(1)).to_tensor()), "float32[1] 25");
  blocker.wait();
  future = opyard::Value();
}

TEST(Fork, WhatItTakesDiesAtItsLastUseInside) {
  Tensor x = f32({1}, {5});
  const CodePtr code = compile(graph_of(R"(graph(%x : Tensor):
  %1 : Future(Tensor) = prim::fork_0(%x)
  %2 : Tensor = aten::wait(%1)
  return (%2)
with prim::fork_0 = graph(%x : Tensor):
  %1 : Tensor = aten::mul(%x, %x)
  return (%1)
)"));
  for (int i = 0; i < 20; ++i) code->run(Values{x});
  EXPECT_EQ(x.impl()->owner_count(), 1u);
}

TEST(Fork, NodesThatShareAGraphShareItsTextAndItsCode) {
  // Sixty graphs, each forked twice by the one before it: 2^60 forks, if nothing is shared.
  std::string text = "graph(%n : int):\n";
  const auto forks = [](int next) {
    const std::string kind = "prim::fork_" + std::to_string(next);
    return "  %a : Future(int) = " + kind + "(%n)\n  %b : Future(int) = " + kind + "(%n)\n";
  };
  text += forks(0) + "  return (%n)\n";
  for (int i = 0; i < 60; ++i) {
    text += "with prim::fork_" + std::to_string(i) + " = graph(%n : int):\n";
    if (i < 59) text += forks(i + 1);
    text += "  return (%n)\n";
  }
  const GraphPtr graph = graph_of(text);
  EXPECT_EQ(to_string(*graph), text);
  EXPECT_GT(compile(graph)->instruction_count(), 0u);
}

TEST(Fork, WrongOnesAreRefused) {
  const auto refused = [](const std::string& text) {
    return thrown_by([&] { compile(graph_of(text)); }).text;
  };
  const std::string inner = "with prim::fork_0 = graph(%a : int):\n  return (%a)\n";
  EXPECT_EQ(
      refused("graph(%x : Tensor):\n  %1 : Future(int) = prim::fork_0(%x)\n  return (%1)\n" +
              inner),
      "%1 = prim::fork (stage 0, <graph>:2:3) has input 0 of type Tensor, where int is wanted");
  EXPECT_EQ(
      refused("graph(%x : int):\n  %1 : Future(str) = prim::fork_0(%x)\n  return (%1)\n" + inner),
      "%1 = prim::fork (stage 0, <graph>:2:3) gives Future(int) as output 0, which is declared "
      "as Future(str)");
  EXPECT_EQ(
      refused("graph(%x : int):\n  %1 : Future(int) = prim::fork_0()\n  return (%1)\n" + inner),
      "%1 = prim::fork (stage 0, <graph>:2:3) has 0 inputs, but its Subgraph takes 1");
  EXPECT_EQ(refused("graph(%x : int):\n  %1 : Future(int) = prim::fork(%x)\n  return (%1)\n"),
            "%1 = prim::fork (stage 0, <graph>:2:3) has no graph in the attribute 'Subgraph'");
  EXPECT_EQ(
      refused("graph(%f : Future(int)):\n  %1 : str = aten::wait(%f)\n  return (%1)\n"),
      "%1 = aten::wait (stage 0, <graph>:2:3) gives int as output 0, which is declared as str");
  load_operators();
  for (const std::string& text :
       {"graph(%x : int):\n  %1 : Future(int) = prim::fork_0(%x)\n  return (%1)\n" + inner,
        std::string("graph(%f : Future(int)):\n  %1 : int = aten::wait(%f)\n  return (%1)\n")}) {
    ParseOptions options;
    options.untrusted = true;
    const GraphPtr stranger = parse_graph(text, options);
    EXPECT_NE(thrown_by([&] {
                compile(stranger);
              }).text.find("runs on or waits for another thread, which a restricted graph may not"),
              std::string::npos);
  }
}

TEST(Fork, GraphsThatHoldThemselvesAndGraphsTooDeepAreRefused) {
  const GraphPtr outer = make_graph();
  const GraphPtr inner = make_graph();
  Node* const fork =
      outer->append_node(outer->create(prim::fork, std::initializer_list<Value*>{}, 1));
  Node* const back =
      inner->append_node(inner->create(prim::fork, std::initializer_list<Value*>{}, 1));
  fork->g_(attr::Subgraph, inner);
  const char* const refusal = "a node cannot hold the graph that it is in, nor one that holds it";
  EXPECT_THROWN(back->g_(attr::Subgraph, outer), BadValue, refusal);
  EXPECT_THROWN(fork->gs_(Symbol::attr("more"), {inner, outer}), BadValue, refusal);

  std::string text = "graph():\n  %1 : Future(int) = prim::fork_0()\n  return ()\n";
  for (int i = 0; i < 300; ++i) {
    const std::string next = "prim::fork_" + std::to_string(i + 1);
    text += "with prim::fork_" + std::to_string(i) + " = graph():\n  %1 : Future(int) = " + next +
            "()\n  return ()\n";
  }
  const Thrown thrown = thrown_by([&] { parse_graph(text); });
  EXPECT_NE(thrown.text.find("graphs within graphs are 257 deep here; at most 256 are read"),
            std::string::npos)
      << thrown.text;
}

TEST(Wait, ChecksWhatAFutureOfSomeoneElseHolds) {
  const CodePtr code =
      compile(graph_of("graph(%f : Future(int)):\n  %1 : int = aten::wait(%f)\n  return (%1)\n"));
  const auto future = make_counted<FutureObject>();
  future->set_value(std::int64_t{4});
  EXPECT_EQ(text_of(code->run(Values{opyard::Value(future)})), "4");
}

}  // namespace
}  // namespace opyard::jit::test_jit_fork
