// test_jit_bad_input.cpp: protects that texts which are cut, doubled, mixed up or very long give an
// error that says where, or a graph that is whole. Suspect jit/src/text/.
#include <gtest/gtest.h>

#include <random>
#include <regex>

#include "../jit.h"
#include "../thrown_by.h"
#include "opyard/jit/interpreter_state.h"

namespace opyard::jit::test_jit_bad_input {
namespace {

constexpr const char* kText = R"(graph(%x : Tensor, %n : int, %flag : bool):
  %one : int = prim::Constant[value=1]()
  %y : Tensor = aten::add(%x, %x, %one)
  %z : Tensor = prim::If(%flag)
    block0():
      %a : Tensor = aten::mul(%y, %x)
      -> (%a)
    block1():
      -> (%x)
  %l : Tensor = prim::Loop(%n, %flag, %z)
    block0(%i : int, %u : Tensor):
      %v : Tensor = aten::relu(%u)
      -> (%flag, %v)
  return (%l)
stage 1(%g : Tensor):
  %w : Tensor = aten::mul(%g, %y)
  return (%w)
)";

// Reads and compiles a text that may be wrong. An error has a place in the text; what is read keeps
// all rules and prints as something that is read again.
bool is_read(const std::string& text) {
  GraphPtr graph;
  try {
    graph = parse_graph(text);
    compile(graph);
  } catch (const Error& error) {
    if (graph == nullptr) {
      static const std::regex place("[0-9]+:[0-9]+");
      EXPECT_TRUE(std::regex_search(error.what(), place)) << error.what();
      return false;
    }
  }
  lint(*graph);
  EXPECT_EQ(to_string(*parse_graph(to_string(*graph))), to_string(*graph));
  return true;
}

TEST(BadInput, ATextThatIsCutSaysWhere) {
  load_operators();
  const std::string text = kText;
  const std::size_t first_stage = text.find("stage 1");
  std::size_t read = 0;
  for (std::size_t bytes = 0; bytes < text.size() - 1; ++bytes) {
    SCOPED_TRACE(bytes);
    const bool whole = is_read(text.substr(0, bytes));
    // A stage is whole from the bracket behind its outputs to the word of the next one.
    EXPECT_EQ(whole, bytes == first_stage - 1 || bytes == first_stage || bytes == text.size() - 1);
    read += whole ? 1 : 0;
    is_read(text.substr(bytes));
  }
  EXPECT_EQ(read, 2U);
}

TEST(BadInput, ATextThatIsDoubledIsRefused) {
  load_operators();
  const std::string text = kText;
  EXPECT_FALSE(is_read(text + text));
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  // A node that is there twice is read: the later one hides the former.
  for (std::size_t twice = 0; twice < lines.size(); ++twice) {
    for (std::size_t out = 0; out <= lines.size(); ++out) {
      std::string mixed;
      for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i != out) mixed += lines[i];
        if (i == twice) mixed += lines[i];
      }
      SCOPED_TRACE(mixed);
      is_read(mixed);
    }
  }
}

TEST(BadInput, LinesInAnyOrderAreReadOrRefused) {
  load_operators();
  const std::string text = kText;
  std::mt19937 random(3);
  std::size_t read = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string mixed = text;
    const std::size_t from = random() % text.size();
    const std::size_t count = random() % 40;
    const std::string part = mixed.substr(from, count);
    mixed.erase(from, count);
    mixed.insert(random() % (mixed.size() + 1), part);
    SCOPED_TRACE(mixed);
    read += is_read(mixed) ? 1U : 0U;
  }
  EXPECT_GT(read, 20U);
  EXPECT_LT(read, 1500U);
}

TEST(BadInput, ValuesAreUsedWhereTheyAre) {
  load_operators();
  EXPECT_THROWN(parse_graph("graph(%x : int):\n  %y : int = aten::add(%z, %x)\n"
                            "  %z : int = aten::add(%x, %x)\n  return (%y)"),
                BadGraph,
                "2:24: there is no value '%z' here\n  %y : int = aten::add(%z, %x)\n"
                "                       ^~");
  EXPECT_THROWN(parse_graph("graph(%x : int):\n  %y : int = aten::add(%g, %x)\n  return (%y)\n"
                            "stage 1(%g : int):\n  return (%g)"),
                BadGraph,
                "2:24: there is no value '%g' here\n  %y : int = aten::add(%g, %x)\n"
                "                       ^~");
  // Changed by hand: a node of stage 0 takes what stage 1 gets.
  const GraphPtr graph = graph_of(
      "graph(%x : int):\n  %y : int = aten::add(%x, %x)\n  return (%y)\nstage 1(%g : int):\n"
      "  return (%g)");
  Node* const sum = *graph->nodes().begin();
  sum->replace_input(0, graph->inputs()[1]);
  EXPECT_EQ(thrown_by([&] { compile(graph); }).kind, ErrorKind::BadGraph);
  sum->replace_input(0, graph->inputs()[0]);
  InterpreterState state(compile(graph));
  Values outputs;
  state.run_one_stage(Values{3}, outputs);
  EXPECT_EQ(text_of(outputs), "6");
}

TEST(BadInput, AMillionNodesRun) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int kNodes = 50'000;
#else
  constexpr int kNodes = 1'000'000;
#endif
  std::string text = "graph(%x : int):\n";
  std::string last = "%x";
  for (int i = 0; i < kNodes; ++i) {
    const std::string next = "%v" + std::to_string(i);
    text += "  " + next + " : int = aten::add(" + last + ", %x)\n";
    last = next;
  }
  text += "  return (" + last + ")\n";
  const GraphPtr graph = graph_of(text);
  EXPECT_EQ(graph->node_count(), std::size_t(kNodes));
  EXPECT_EQ(compile(graph)->run(Values{2})[0].to_int(), 2 * (kNodes + 1));
  EXPECT_EQ(graph->find_value("v7")->node()->input(0), graph->find_value("v6"));
}

TEST(BadInput, ACodeOfAGraphThatWasChangedSaysSo) {
  const GraphPtr graph =
      graph_of("graph(%x : int):\n  %y : int = aten::add(%x, %x)\n  return (%y)");
  const CodePtr code = compile(graph);
  InterpreterState state(code);
  graph->register_output(graph->inputs()[0]);
  EXPECT_EQ(thrown_by([&] { code->run(Values{1}); }).kind, ErrorKind::BadGraph);
  Values outputs;
  EXPECT_EQ(thrown_by([&] { state.run_one_stage(Values{1}, outputs); }).kind, ErrorKind::BadGraph);
  EXPECT_EQ(text_of(compile(graph)->run(Values{1})), "2; 1");
}

// Each stop, and each clone of it, goes on to the same end.
TEST(BadInput, AStateIsClonedInTheMiddleOfAStage) {
  const CodePtr code = compile(
      graph_of("graph(%x : int):\n  %y : int = aten::add(%x, %x)\n  %z : int = aten::mul(%y, %y)\n"
               "  return (%z)"));
  InterpreterState state(code);
  state.begin_stage(Values{3});
  state.step();
  InterpreterState clone = state.clone();
  Values outputs;
  state.resume(outputs);
  EXPECT_EQ(text_of(outputs), "36");
  clone.resume(outputs);
  EXPECT_EQ(text_of(outputs), "36");
  EXPECT_EQ(thrown_by([&] { clone.resume(outputs); }).kind, ErrorKind::BadGraph);
}

}  // namespace
}  // namespace opyard::jit::test_jit_bad_input
