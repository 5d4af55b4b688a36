// test_jit_out_of_memory.cpp: protects that reading, compiling and running a graph survive a failed
// allocation at every point, and an operator that throws at every call: an error, nothing lost, and
// the next attempt works. Suspect jit/src/text/ and jit/src/code/.
#include <gtest/gtest.h>

#include "../counting_new.h"
#include "generated_graph.h"
#include "opyard/keys/local.h"
#include "opyard/registry/registry.h"

namespace opyard::jit::test_jit_out_of_memory {
namespace {

// Whether `body` ended by a failed allocation.
template <typename Body>
bool fails(Body&& body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::OutOfMemory) throw;
    return true;
  }
  return false;
}

// Runs `body` with its first request failing, then its second, and so on, until none is refused.
template <typename Body>
long fail_each(Body&& body) {
  body();
  for (const bool once : {true, false}) {
    for (long n = 0;; ++n) {
      const long live = counting::live;
      bool failed = false;
      bool refused = false;
      {
        const counting::Failure failure(n, once);
        failed = fails(body);
        refused = counting::refused;
      }
      EXPECT_EQ(failed, refused) << "request " << n;
      EXPECT_EQ(counting::live, live) << "request " << n;
      body();
      if (testing::Test::HasFailure()) return n;
      if (refused) continue;
      if (!once) return n;
      break;
    }
  }
  return 0;
}

constexpr const char* kText = R"(graph(%x : Tensor, %n : int, %flag : bool):
  %one : int = prim::Constant[value=1]()
  %text : str = prim::Constant[value="a text that is longer than a string keeps inside"]()
  %sizes : int[] = prim::Constant[value=[1, 2, 3]]()
  %true : bool = prim::Constant[value=1]()
  %y : Tensor = aten::add(%x, %x, %one)
  %z : Tensor = prim::If(%flag) # model.py:7:1
    block0():
      %a : Tensor = aten::mul(%y, %x)
      -> (%a)
    block1():
      -> (%x)
  %l : Tensor = prim::Loop(%n, %true, %z)
    block0(%i : int, %u : Tensor):
      %v : Tensor = aten::relu(%u)
      -> (%true, %v)
  %list : Tensor[] = prim::ListConstruct(%l, %y)
  return (%list, %sizes)
stage 1(%g : Tensor):
  %w : Tensor = aten::mul(%g, %y)
  return (%w)
)";

TEST(GraphOutOfMemory, P4_ReadingPrintingAndCompiling) {
  load_operators();
  EXPECT_GT(fail_each([] { parse_graph(kText); }), 50);
  const GraphPtr graph = parse_graph(kText);
  EXPECT_GT(fail_each([&] { to_string(*graph); }), 3);
  EXPECT_GT(fail_each([&] { lint(*graph); }), 3);
  EXPECT_GT(fail_each([&] { graph->copy(); }), 30);
  EXPECT_GT(fail_each([&] { compile(graph); }), 30);
  EXPECT_GT(fail_each([&] { compile(graph)->disassemble(); }), 30);
  EXPECT_EQ(to_string(*graph), to_string(*parse_graph(kText)));
}

TEST(GraphOutOfMemory, P4_StatesAreClonedSavedAndLoaded) {
  const CodePtr code = compile(graph_of(kText));
  const Values inputs = {f32({2}, {1, 2}), 2, true};
  InterpreterState state(code);
  Values outputs;
  state.run_one_stage(inputs, outputs);
  EXPECT_GE(fail_each([&] { state.clone(); }), 1);
  EXPECT_GT(fail_each([&] { state.save(); }), 1);
  const std::string bytes = state.save();
  EXPECT_GT(fail_each([&] { InterpreterState::load(code, bytes); }), 1);
}

// A run that stops at any request is resumed, and gives what it gives otherwise.
TEST(GraphOutOfMemory, H32_RunsGoOnAfterAnyFailedAllocation) {
  load_operators();
  long stopped = 0;
  const std::uint32_t count = generated_graphs(60);
  for (std::uint32_t seed = 1; seed <= count && !HasFailure(); ++seed) {
    const CodePtr code = compile(Generator(seed).make());
    SCOPED_TRACE(to_string(code->graph()));
    const std::string expected = run_slowly(code->graph(), seed);
    bool refused = true;
    for (long n = 0; refused && !HasFailure(); ++n) {
      refused = false;
      std::string text;
      InterpreterState state(code);
      for (int stage = 0; stage <= code->graph().stage(); ++stage) {
        Values inputs;
        for (const Value* const input : code->graph().inputs()) {
          if (input->stage() == stage) inputs.push_back(input_for(input, seed));
        }
        Values outputs;
        outputs.reserve(8);
        bool failed = false;
        {
          const counting::Failure failure(n, true);
          failed = fails([&] { state.run_one_stage(inputs, outputs); });
          refused = refused || counting::refused;
        }
        if (failed) {
          ++stopped;
          if (state.is_inside_stage()) {
            state.resume(outputs);
          } else {
            state.run_one_stage(inputs, outputs);
          }
        }
        text += text_of(outputs) + "\n";
      }
      EXPECT_EQ(text, expected) << "request " << n;
      EXPECT_TRUE(state.live_values().empty());
    }
  }
  EXPECT_GT(stopped, 10L * count);
}

// What is stopped and dropped gives everything back.
TEST(GraphOutOfMemory, H35_NothingIsLostWhereverARunIsDropped) {
  load_operators();
  for (std::uint32_t seed = 1; seed <= 30 && !HasFailure(); ++seed) {
    const CodePtr code = compile(Generator(seed).make());
    SCOPED_TRACE(to_string(code->graph()));
    Values inputs;
    for (const Value* const input : code->graph().inputs()) {
      if (input->stage() == 0) inputs.push_back(input_for(input, seed));
    }
    fail_each([&] {
      InterpreterState state(code);
      Values outputs;
      state.run_one_stage(inputs, outputs);
    });
  }
}

// In front of all operators that this thread calls: the one that the countdown reaches throws
// before its kernel.
thread_local long calls_left = -1;
class Throwing {
 public:
  static constexpr DispatchKey kKey = DispatchKey::AboveAutograd2;
  Throwing() = default;
  Throwing(const Throwing&) = delete;
  Throwing& operator=(const Throwing&) = delete;
  ~Throwing() { calls_left = -1; }

 private:
  static void go_on(const Operator& op, DispatchKeySet keys, Stack& stack) {
    if (calls_left == 0) fail(ErrorKind::BadValue, "planted");
    if (calls_left > 0) --calls_left;
    op.redispatch_boxed(keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, kKey), stack);
  }

  const Registration fallback_ =
      Registry::instance().implement_fallback(kKey, Kernel::boxed(&go_on), "here");
  const IncludeDispatchKeyGuard include_{DispatchKeySet(kKey)};
};

TEST(GraphFailures, H32_H35_AnOperatorThrowsAtEachCallOfAGeneratedGraph) {
  load_operators();
  const Throwing throwing;
  long thrown = 0;
  const std::uint32_t count = generated_graphs(200);
  for (std::uint32_t seed = 1; seed <= count && !HasFailure(); ++seed) {
    const CodePtr code = compile(Generator(seed).make());
    SCOPED_TRACE(to_string(code->graph()));
    calls_left = -1;
    const std::string expected = run_slowly(code->graph(), seed);
    bool threw = true;
    for (long n = 0; threw && !HasFailure(); ++n) {
      const long live = counting::live;
      threw = false;
      {
        std::string text;
        InterpreterState state(code);
        calls_left = n;
        for (int stage = 0; stage <= code->graph().stage(); ++stage) {
          Values inputs;
          for (const Value* const input : code->graph().inputs()) {
            if (input->stage() == stage) inputs.push_back(input_for(input, seed));
          }
          Values outputs;
          try {
            state.run_one_stage(inputs, outputs);
          } catch (const Error& error) {
            threw = true;
            EXPECT_NE(std::string(error.what()).find("planted"), std::string::npos);
            EXPECT_TRUE(state.is_inside_stage());
            EXPECT_NE(std::string(error.what()).find(to_string(*state.node())), std::string::npos);
            const InterpreterState dropped = state.clone();
            InterpreterState twin = state.clone();
            calls_left = -1;
            state.resume(outputs);
            Values others;
            twin.resume(others);
            EXPECT_EQ(text_of(others), text_of(outputs)) << "call " << n;
          }
          text += text_of(outputs) + "\n";
        }
        EXPECT_EQ(text, expected) << "call " << n;
        EXPECT_TRUE(state.live_values().empty());
      }
      // A run of one stage on registers of the C stack: it ends with the throw.
      if (threw && code->stage_count() == 1) {
        Values inputs;
        for (const Value* const input : code->graph().inputs()) {
          inputs.push_back(input_for(input, seed));
        }
        calls_left = n;
        EXPECT_THROW(code->run(inputs), Error);
        calls_left = -1;
        EXPECT_EQ(text_of(code->run(inputs)) + "\n", expected);
      }
      EXPECT_EQ(counting::live, live) << "call " << n;
      thrown += threw;
    }
  }
  EXPECT_GT(thrown, 5L * count);
}

}  // namespace
}  // namespace opyard::jit::test_jit_out_of_memory
