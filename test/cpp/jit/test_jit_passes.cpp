// test_jit_passes.cpp: protects the passes: each by the files of test/graphs/passes/, and all by
// random graphs with branches, loops, views, writes and stages, which run as before, bit for bit.
// Suspect jit/src/passes/.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "../folder.h"
#include "../thrown_by.h"
#include "generated_graph.h"
#include "opyard/jit/aliases.h"
#include "opyard/jit/file_check.h"
#include "opyard/jit/passes.h"

namespace opyard::jit::test_jit_passes {
namespace {

struct Pass {
  const char* name;
  bool (*run)(Graph& graph);
};
constexpr Pass kPasses[] = {
#define OPYARD_PASS(name, words) {#name, &passes::name},
#include "opyard/jit/passes.def"
#undef OPYARD_PASS
};

// The parts of a file between lines "== pass, pass": what is behind the == and the text with its
// expectations.
std::vector<std::pair<std::string, std::string>> cases_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::pair<std::string, std::string>> cases;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("== ")) {
      cases.emplace_back(line.substr(3), "");
    } else {
      cases.back().second += line + "\n";
    }
  }
  return cases;
}

void run_case(const std::string& names, const std::string& text) {
  SCOPED_TRACE(names + "\n" + text);
  const GraphPtr graph = graph_of(text);
  std::istringstream words(names);
  for (std::string word; words >> word;) {
    const auto pass = std::find_if(std::begin(kPasses), std::end(kPasses),
                                   [&](const Pass& one) { return word == one.name; });
    ASSERT_NE(pass, std::end(kPasses)) << word;
    pass->run(*graph);
    lint(*graph);
    EXPECT_FALSE(pass->run(*graph)) << "a second run still finds something\n" << to_string(*graph);
  }
  EXPECT_EQ(find_mismatch(to_string(*graph), text), "");
}

TEST(Passes, EachPassGivesTheExpectedText) {
  const std::filesystem::path folder = std::filesystem::path(kTestFolder) / "graphs" / "passes";
  for (const Pass& pass : kPasses) {
    const auto cases = cases_of(folder / (std::string(pass.name) + ".txt"));
    EXPECT_FALSE(cases.empty()) << pass.name;
    for (const auto& [names, text] : cases) run_case(names, text);
  }
}

// What a caller sees: outputs of each stage, and all inputs behind it. Between stages the caller
// writes what it was given.
std::string observe(const GraphPtr& graph, std::uint32_t seed) {
  InterpreterState state(compile(graph));
  std::string text;
  Values given;
  for (int stage = 0; stage <= graph->stage(); ++stage) {
    Values inputs;
    for (const Value* const input : graph->inputs()) {
      if (input->stage() == stage) inputs.push_back(input_for(input, seed));
    }
    given.insert(given.end(), inputs.begin(), inputs.end());
    Values outputs;
    state.run_one_stage(inputs, outputs);
    text += text_of(outputs) + "\n";
    for (const opyard::Value& output : outputs) {
      InlineStack<2> stack;
      stack.push(output);
      stack.push(opyard::Value(0.5));
      require_operator("aten::fill_.Scalar").call_boxed(stack);
    }
    text += text_of(given) + "\n";
  }
  return text;
}

TEST(Passes, T2_GeneratedGraphsRunAsBefore) {
  load_operators();
  const std::uint32_t count = generated_graphs(600);
  for (std::uint32_t seed = 1; seed <= count && !HasFailure(); ++seed) {
    const GraphPtr plain = Generator(seed, seed % 2 == 0).make();
    SCOPED_TRACE(to_string(*plain));
    const std::string expected = observe(plain, seed);
    for (const Pass& pass : kPasses) {
      const GraphPtr changed = plain->copy();
      pass.run(*changed);
      lint(*changed);
      EXPECT_EQ(observe(changed, seed), expected) << pass.name << "\n" << to_string(*changed);
    }
  }
}

TEST(FileCheck, H19_FindsWhatIsExpected) {
  const std::string text = "a one\nb two two\nc one\n";
  EXPECT_EQ(find_mismatch(text, "# CHECK: one\n# CHECK-NEXT: two\n# CHECK-SAME: two"), "");
  EXPECT_EQ(find_mismatch(text, "CHECK-COUNT-2: two\nCHECK-NOT: two\nCHECK: one"), "");
  EXPECT_EQ(find_mismatch(text, "CHECK-DAG: c one\nCHECK-DAG: a\nCHECK-DAG: one"), "");
  EXPECT_EQ(find_mismatch(text, "CHECK: one\nCHECK: one\nCHECK-NOT: two"), "");
}

TEST(FileCheck, H19_SaysWhatIsNotThere) {
  const std::string text = "a one\nb two two\nc one\n";
  EXPECT_EQ(find_mismatch(text, "# CHECK: a\n# CHECK-NEXT: one"),
            "line 2 of the expectations: 'CHECK-NEXT: one' is not in the next line\n"
            "a one\nb two two\n^ from here\nc one\n");
  EXPECT_NE(find_mismatch(text, "CHECK: two\nCHECK: three"), "");
  EXPECT_NE(find_mismatch(text, "CHECK: a\nCHECK-SAME: two"), "");
  EXPECT_NE(find_mismatch(text, "CHECK-NOT: two\nCHECK: c"), "");
  EXPECT_NE(find_mismatch(text, "CHECK: a\nCHECK-NOT: c"), "");
  EXPECT_NE(find_mismatch(text, "CHECK-COUNT-3: two"), "");
  EXPECT_NE(find_mismatch(text, "CHECK-DAG: one\nCHECK-DAG: one\nCHECK-DAG: one"), "");
  EXPECT_NE(find_mismatch(text, "CHECK: c\nCHECK: a"), "");
}

TEST(FileCheck, H19_RefusesWhatIsNoExpectation) {
  const auto refusal = [](const char* expectations) {
    return thrown_by([&] { find_mismatch("text", expectations); }).text;
  };
  EXPECT_EQ(refusal("nothing"), "the expectations have no line with CHECK");
  EXPECT_NE(refusal("CHECK text").find("has no ':'"), std::string::npos);
  EXPECT_NE(refusal("CHECK:").find("expects nothing"), std::string::npos);
  EXPECT_NE(refusal("CHECK-NEXT: a").find("is the first one"), std::string::npos);
  EXPECT_NE(refusal("CHECK-EVER: a").find("is none of CHECK"), std::string::npos);
  EXPECT_NE(refusal("CHECK-COUNT-0: a").find("an n above 0"), std::string::npos);
}

}  // namespace
}  // namespace opyard::jit::test_jit_passes
