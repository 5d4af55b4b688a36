// test_jit_code.cpp: protects results of a graph: calls, numbers, containers, branches, loops, stages.
// Suspect jit/src/code/.
#include <gtest/gtest.h>

#include <optional>

#include "../jit.h"
#include "../thrown_by.h"
#include "opyard/jit/interpreter_state.h"
#include "opyard/jit/operation.h"

namespace opyard::jit::test_jit_code {
namespace {

TEST(Code, AGraphOfThreeNodesFromTextRunsAndPrints) {
  const GraphPtr graph = graph_of(R"(graph(%x : Tensor,
      %w : Tensor):
  %2 : int = prim::Constant[value=1]()
  %3 : Tensor = aten::mul(%x, %w)
  %4 : Tensor = aten::add(%3, %x, %2)
  return (%4)
)");
  EXPECT_EQ(to_string(*graph), R"(graph(%x : Tensor,
      %w : Tensor):
  %2 : int = prim::Constant[value=1]()
  %3 : Tensor = aten::mul(%x, %w)
  %4 : Tensor = aten::add(%3, %x, %2)
  return (%4)
)");
  const Values inputs = {f32({2}, {1, 2}), f32({2}, {3, 4})};
  EXPECT_EQ(text_of(compile(graph)->run(inputs)), "float32[2] 4 10");
}

TEST(Code, NumbersAreComputedByInstructions) {
  EXPECT_EQ(run_text(R"(graph(%x : int, %y : float):
  %two : int = prim::Constant[value=2]()
  %a : int = aten::mul(%x, %two)
  %b : float = aten::add(%a, %y)
  %c : bool = aten::lt(%b, %y)
  %d : float = aten::div(%x, %two)
  %e : int = aten::floordiv(%x, %two)
  return (%a, %b, %c, %d, %e)
)",
                     {-7, 0.5}),
            "-14; -13.5; True; -3.5; -4");
}

std::string served_on(std::string_view call, const Tensor& x, const Tensor& y) {
  return run_text(
      "graph(%x : Tensor, %y : Tensor):\n  %none : NoneType = prim::Constant()\n"
      "  %undefined : Tensor = prim::Undefined()\n"
      "  %list : Tensor[] = prim::ListConstruct(%x, %y)\n  %kernel : int = " +
          std::string(call) + "\n  return (%kernel)\n",
      {x, y});
}

// Tensors, lists of them, optional and undefined ones, in each place that a short call has. The
// kernels are plain functions, so that these are called the short way.
TEST(Code, EachArgumentThatCarriesKeysChoosesTheKernel) {
  Library library(LibraryKind::Def, "keys_of_graphs");
  const auto define = [&](const char* name, const char* arguments, auto on_cpu, auto on_meta) {
    library.def(std::string(name) + arguments + " -> int");
    library.impl(name, DispatchKey::CPU, on_cpu);
    library.impl(name, DispatchKey::Meta, on_meta);
  };
  using Optional = std::optional<Tensor>;
  using List = std::vector<Tensor>;
  define(
      "one", "(Tensor x)", +[](const Tensor&) { return std::int64_t{0}; },
      +[](const Tensor&) { return std::int64_t{1}; });
  define(
      "two", "(Tensor x, Tensor y)", +[](const Tensor&, const Tensor&) { return std::int64_t{0}; },
      +[](const Tensor&, const Tensor&) { return std::int64_t{1}; });
  define(
      "three", "(Tensor x, Tensor? y, Tensor z)",
      +[](const Tensor&, const Optional&, const Tensor&) { return std::int64_t{0}; },
      +[](const Tensor&, const Optional&, const Tensor&) { return std::int64_t{1}; });
  define(
      "list", "(Tensor x, Tensor[] y)", +[](const Tensor&, const List&) { return std::int64_t{0}; },
      +[](const Tensor&, const List&) { return std::int64_t{1}; });
  const Tensor cpu = f32({1}, {1});
  const Tensor meta = Tensor::empty(cpu.sizes(), DType::Float32, Device{Backend::Meta, -1});
  for (const char* const call :
       {"keys_of_graphs::one(%y)", "keys_of_graphs::two(%x, %y)", "keys_of_graphs::two(%y, %x)",
        "keys_of_graphs::two(%undefined, %y)", "keys_of_graphs::two(%y, %undefined)",
        "keys_of_graphs::three(%x, %none, %y)", "keys_of_graphs::three(%x, %y, %x)",
        "keys_of_graphs::three(%y, %none, %x)", "keys_of_graphs::list(%x, %list)"}) {
    EXPECT_EQ(served_on(call, cpu, cpu), "0") << call;
    EXPECT_EQ(served_on(call, cpu, meta), "1") << call;
  }
}

TEST(Code, BranchesAndLoops) {
  const char* const text = R"(graph(%n : int, %x : Tensor, %flag : bool):
  %one : int = prim::Constant[value=1]()
  %true : bool = prim::Constant[value=1]()
  %y : Tensor = prim::If(%flag)
    block0():
      %a : Tensor = aten::add(%x, %x, %one)
      -> (%a)
    block1():
      -> (%x)
  %z : Tensor, %count : int = prim::Loop(%n, %true, %y, %one)
    block0(%i : int, %carried : Tensor, %k : int):
      %next : Tensor = aten::add(%carried, %y, %one)
      %k2 : int = aten::add(%k, %i)
      -> (%true, %next, %k2)
  return (%z, %count)
)";
  EXPECT_EQ(run_text(text, {3, f32({1}, {1}), true}), "float32[1] 8; 4");
  EXPECT_EQ(run_text(text, {0, f32({1}, {1}), false}), "float32[1] 1; 1");
}

TEST(Code, H21_H29_StagesRunOneAfterTheOther) {
  const CodePtr code = compile(graph_of(R"(graph(%x : Tensor,
      %w : Tensor):
  %3 : Tensor = aten::mul(%x, %w)
  return (%3)
stage 1(%g : Tensor):
  %5 : Tensor = aten::mul(%g, %w)
  return (%5)
)"));
  ASSERT_EQ(code->stage_count(), 2U);
  InterpreterState state(code);
  Values outputs;
  state.run_one_stage(Values{f32({1}, {2}), f32({1}, {3})}, outputs);
  EXPECT_EQ(text_of(outputs), "float32[1] 6");
  InterpreterState again = state.clone();
  state.run_one_stage(Values{f32({1}, {5})}, outputs);
  EXPECT_EQ(text_of(outputs), "float32[1] 15");
  again.run_one_stage(Values{f32({1}, {7})}, outputs);
  EXPECT_EQ(text_of(outputs), "float32[1] 21");
  EXPECT_TRUE(state.is_finished());
}

TEST(Code, H39_ACppFunctionTakesWhatItsNodeTakesAndGivesItsOutputs) {
  load_operators();
  const GraphPtr graph = make_graph();
  Value* const x = graph->add_input("x");
  Value* const n = graph->add_input("n", base_type(TypeKind::Int));
  Node* const node = graph->append_node(graph->create(prim::CppOp, {x, n}, 2));
  node->output(1)->set_type(base_type(TypeKind::Int));
  const Operator& mul = require_operator("aten::mul.Tensor");
  node->set_payload(
      cpp_operation("square", [&mul](std::span<const opyard::Value> inputs, Values& outputs) {
        OPYARD_CHECK(inputs[1].to_int() >= 0, BadValue, "negative");
        InlineStack<2> stack;
        stack.push(inputs[0]);
        stack.push(inputs[0]);
        mul.call_boxed(stack);
        outputs.push_back(stack.pop());
        outputs.emplace_back(inputs[1].to_int() + 1);
      }));
  Node* const after =
      graph->append_node(graph->create(Symbol::from_qual_string("aten::neg"), {node->output(0)}));
  graph->register_output(after->output());
  graph->register_output(node->output(1));
  const CodePtr code = compile(graph);
  EXPECT_EQ(text_of(code->run(Values{f32({2}, {2, 3}), 4})), "float32[2] -4 -9; 5");
  EXPECT_EQ(thrown_by([&] { code->run(Values{f32({2}, {2, 3}), -1}); }).text,
            "negative\nin %2 : Tensor, %3 : int = prim::CppOp(%x, %n) (stage 0), where %x is "
            "float32[2]");
}

TEST(Code, H42_AnUnknownKindIsNamed) {
  const Thrown thrown = thrown_by([] {
    compile(graph_of("graph(%x : Tensor):\n  %y : Tensor = no_such::thing(%x)\n  return (%y)"));
  });
  EXPECT_EQ(thrown.kind, ErrorKind::BadGraph);
  EXPECT_NE(thrown.text.find("no_such::thing"), std::string::npos) << thrown.text;
  EXPECT_THROWN(
      compile(graph_of("graph(%x : Tensor):\n  %y : Tensor = aten::add.no(%x, %x)\n  return (%y)")),
      BadGraph, "%y = aten::add (stage 0, <graph>:2:3): operator 'aten::add' has no overload 'no'");
}

}  // namespace
}  // namespace opyard::jit::test_jit_code
