// test_jit_generated.cpp: protects flat code against a slow reading of the same graph: random graphs with
// branches, loops, views, in-place operators and stages, run as code, stage by stage with every
// last use checked, and node by node; stopped, cloned and dropped everywhere.
// Suspect jit/src/code/.
#include <gtest/gtest.h>

#include "generated_graph.h"

namespace opyard::jit::test_jit_generated {
namespace {

TEST(Generated, T2_CodeComputesWhatTheGraphSays) {
  load_operators();
  const std::uint32_t count = generated_graphs(kGeneratedGraphs);
  for (std::uint32_t seed = 1; seed <= count && !HasFailure(); ++seed) {
    const GraphPtr graph = Generator(seed).make();
    lint(*graph);
    const std::string text = to_string(*graph);
    SCOPED_TRACE(text);
    const std::string expected = run_slowly(*graph, seed);
    const CodePtr code = compile(graph);
    EXPECT_EQ(run_as_code(code, seed), expected) << code->disassemble();
    const GraphPtr again = parse_graph(text);
    EXPECT_EQ(to_string(*again), text);
    EXPECT_EQ(run_as_code(compile(again), seed), expected);
    if (code->stage_count() > 1) continue;
    Values inputs;
    for (const Value* const input : graph->inputs()) inputs.push_back(input_for(input, seed));
    EXPECT_EQ(text_of(code->run(inputs)) + "\n", expected);
  }
}

Values inputs_of(const Graph& graph, int stage, std::uint32_t seed) {
  Values inputs;
  for (const Value* const input : graph.inputs()) {
    if (input->stage() == stage) inputs.push_back(input_for(input, seed));
  }
  return inputs;
}

// Stops before each instruction that runs: by a budget, which throws, and by stepping. Of each
// place a clone is dropped, and another goes on to the end.
TEST(Generated, H30_H32_StatesAreStoppedClonedAndDroppedAtEachInstruction) {
  load_operators();
  std::size_t stops = 0;
  const std::uint32_t count = generated_graphs(300);
  for (std::uint32_t seed = 1; seed <= count && !HasFailure(); ++seed) {
    const CodePtr code = compile(Generator(seed).make());
    SCOPED_TRACE(to_string(code->graph()));
    const std::string expected = run_slowly(code->graph(), seed);
    std::string stepped;
    InterpreterState state(code);
    for (int stage = 0; stage <= code->graph().stage(); ++stage) {
      state.begin_stage(inputs_of(code->graph(), stage, seed));
      std::string of_stage;
      do {
        InterpreterState dropped = state.clone();
        InterpreterState twin = state.clone();
        twin.set_budget({.steps = stops % 5});
        Values outputs;
        try {
          twin.resume(outputs);
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find("budget of steps"), std::string::npos);
          EXPECT_TRUE(twin.is_inside_stage());
          twin.set_budget({});
          twin.resume(outputs);
        }
        if (of_stage.empty()) of_stage = text_of(outputs) + "\n";
        EXPECT_EQ(text_of(outputs) + "\n", of_stage);
        ++stops;
      } while (state.step());
      Values outputs;
      state.resume(outputs);
      EXPECT_EQ(text_of(outputs) + "\n", of_stage);
      stepped += of_stage;
    }
    EXPECT_EQ(stepped, expected);
    EXPECT_TRUE(state.live_values().empty());
  }
  EXPECT_GT(stops, 10U * count);
}

}  // namespace
}  // namespace opyard::jit::test_jit_generated
