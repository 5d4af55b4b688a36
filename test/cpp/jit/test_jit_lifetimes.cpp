// test_jit_lifetimes.cpp: protects lifetimes of values in runs, also after a throw, a clone and a drop.
// Suspect jit/src/code/lifetimes.cpp.
//
// [Counted objects] Values are tensors with storage of their own; the number of live ones is what a
// test compares. "test::fail_at" throws while a countdown says so.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "../jit.h"
#include "code/code_data.h"
#include "opyard/jit/draw.h"
#include "opyard/jit/interpreter_state.h"
#include "opyard/jit/operation.h"
#include "opyard/jit/report.h"

namespace opyard::jit::test_jit_lifetimes {
namespace {

int live = 0;  // tensors of fresh()

Tensor fresh(float value) {
  auto* const memory = new float(value);
  ++live;
  return Tensor::adopt(memory, {}, {}, DType::Float32, Device{}, memory, [](void* context) {
    --live;
    delete static_cast<float*>(context);
  });
}

float number(const opyard::Value& value) { return *value.to_tensor().data<float>(); }

int countdown = -1;  // calls until one throws

void count_down() {
  if (countdown == 0) fail(ErrorKind::BadValue, "planted");
  if (countdown > 0) --countdown;
}

// test::two(a, b) -> a + b as a fresh tensor; test::none() gives two.
const Library& operators() {
  static Library& library = *[] {
    auto* made = new Library(LibraryKind::Def, "test_lifetimes", std::nullopt, "here");
    made->def("plus(Tensor a, Tensor b) -> Tensor");
    made->impl("plus", DispatchKey::CPU, [](const Tensor& a, const Tensor& b) {
      count_down();
      return fresh(*a.data<float>() + *b.data<float>());
    });
    made->def("pair(Tensor a) -> (Tensor, Tensor)");
    made->impl("pair", DispatchKey::CPU, [](const Tensor& a) {
      count_down();
      return std::tuple<Tensor, Tensor>(fresh(*a.data<float>()), fresh(-*a.data<float>()));
    });
    return made;
  }();
  return library;
}

CodePtr code_of(std::string_view text) {
  operators();
  return compile(parse_graph(text));
}

constexpr const char* kStaged = R"(graph(%x : Tensor,
      %unused : Tensor):
  %a : Tensor = test_lifetimes::plus(%x, %x)
  %b : Tensor = test_lifetimes::plus(%a, %x)
  %dead : Tensor, %c : Tensor = test_lifetimes::pair(%b)
  return (%c)
stage 1(%g : Tensor):
  %d : Tensor = test_lifetimes::plus(%g, %a)
  return (%d, %d)
stage 2():
  return (%g)
)";

TEST(Lifetimes, H23_AnUnusedInputIsNotHeld) {
  const CodePtr code = code_of(kStaged);
  InterpreterState state(code);
  Values inputs = {opyard::Value(fresh(1)), opyard::Value(fresh(2))};
  Values outputs;
  state.run_one_stage(inputs, outputs);
  EXPECT_EQ(inputs[1].to_tensor().impl()->owner_count(), 1U);
  EXPECT_EQ(inputs[0].to_tensor().impl()->owner_count(), 1U) << "its last use is over";
  EXPECT_EQ(code->register_of(code->graph().inputs()[1]), -1);
}

TEST(Lifetimes, H25_H29_BetweenStagesOnlyWhatIsUsedLaterLives) {
  live = 0;
  const CodePtr code = code_of(kStaged);
  {
    InterpreterState state(code);
    Values outputs;
    state.run_one_stage(Values{opyard::Value(fresh(1)), opyard::Value(fresh(2))}, outputs);
    EXPECT_EQ(number(outputs.at(0)), -3);
    outputs.clear();
    EXPECT_EQ(live, 1) << "%a";
    ASSERT_EQ(state.live_values().size(), 1U);
    EXPECT_EQ(state.live_values()[0]->debug_name(), "a");
    state.run_one_stage(Values{opyard::Value(fresh(10))}, outputs);
    EXPECT_EQ(number(outputs.at(1)), 12);
    EXPECT_TRUE(outputs[0].identical(outputs[1]));
    outputs.clear();
    EXPECT_EQ(live, 1) << "%g, which stage 2 returns";
    state.run_one_stage({}, outputs);
    EXPECT_TRUE(state.is_finished());
    EXPECT_EQ(outputs[0].to_tensor().impl()->owner_count(), 1U) << "moved out";
    EXPECT_TRUE(state.live_values().empty());
  }
  EXPECT_EQ(live, 0);
}

TEST(Lifetimes, H27_WrongUseOfAStateIsAnError) {
  InterpreterState state(code_of(kStaged));
  Values outputs;
  EXPECT_THROWN(state.run_one_stage({}, outputs), BadArgument,
                "stage 0 takes 2 inputs (%x, %unused), but 0 were given");
  const Tensor x = fresh(1);
  EXPECT_THROWN(state.run_one_stage(Values{opyard::Value(x), 5}, outputs), BadArgument,
                "input %unused at position 1 of stage 0 is Int (5), but the graph takes Tensor");
  EXPECT_THROWN(state.resume(outputs), BadGraph,
                "no stage is begun; run_one_stage() takes its inputs");
  state.run_one_stage(Values{opyard::Value(x), opyard::Value(x)}, outputs);
  state.begin_stage(Values{opyard::Value(x)});
  EXPECT_THROWN(state.run_one_stage(Values{opyard::Value(x)}, outputs), BadGraph,
                "stage 1 was begun and has not ended; resume it, or clone a state from before");
  state.resume(outputs);
  state.run_one_stage({}, outputs);
  EXPECT_THROWN(state.run_one_stage({}, outputs), BadGraph, "all 3 stages of this state have run");
  EXPECT_EQ(x.impl()->owner_count(), 1U) << "outputs are emptied first";
}

TEST(Lifetimes, H31_TypesOfInputs) {
  InterpreterState state(compile(parse_graph(R"(graph(%x : Float(2, 3),
      %n : int):
  return ()
stage 1(%g : Long()):
  return ()
)")));
  EXPECT_EQ(*state.tensor_type_for_input(0).sizes, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(state.type_for_input(1).kind(), TypeKind::Int);
  EXPECT_THROWN(state.tensor_type_for_input(1), BadArgument,
                "input 1 of stage 0 is int, of which no shape is known");
  EXPECT_THROWN(state.type_for_input(2), BadIndex, "Input out of range");
  Values outputs;
  EXPECT_THROWN(state.run_one_stage(Values{i64({1}, {1}), 1}, outputs), BadArgument,
                "input %x at position 0 of stage 0 is Tensor (int64[1]), but the graph takes "
                "Float(2, 3)");
  state.run_one_stage(Values{f32({1}, {1}), 1}, outputs);
  EXPECT_EQ(*state.tensor_type_for_input(0).dtype, DType::Int64);
}

// Branches and loops, so that each way through is taken.
constexpr const char* kBranching = R"(graph(%x : Tensor,
      %y : Tensor,
      %flag : bool,
      %n : int):
  %true : bool = prim::Constant[value=1]()
  %z : Tensor, %w : Tensor = prim::If(%flag)
    block0():
      %a : Tensor = test_lifetimes::plus(%x, %y)
      -> (%a, %a)
    block1():
      %p : Tensor, %q : Tensor = test_lifetimes::pair(%y)
      -> (%q, %p)
  %r : Tensor, %s : Tensor = prim::Loop(%n, %true, %z, %w)
    block0(%i : int, %u : Tensor, %v : Tensor):
      %odd : int = aten::remainder(%i, %n)
      %t : Tensor = test_lifetimes::plus(%u, %y)
      -> (%true, %v, %t)
  return (%r, %s)
)";

std::string numbers(const Values& values) {
  std::string text;
  for (const opyard::Value& value : values) text += std::to_string(int(number(value))) + " ";
  return text;
}

TEST(Lifetimes, EveryWayThroughBranchesAndLoopsFreesEverything) {
  const CodePtr code = code_of(kBranching);
  const auto run = [&](bool flag, std::int64_t n) {
    live = 0;
    std::string text;
    {
      const Values inputs = {opyard::Value(fresh(1)), opyard::Value(fresh(10)), flag, n};
      text = numbers(code->run(inputs));
      EXPECT_EQ(live, 2) << "the inputs";
      InterpreterState state(code);
      state.check_frees(true);
      Values outputs;
      state.run_one_stage(inputs, outputs);
      EXPECT_EQ(numbers(outputs), text);
      EXPECT_TRUE(state.live_values().empty());
    }
    EXPECT_EQ(live, 0);
    return text;
  };
  EXPECT_EQ(run(true, 0), "11 11 ");
  EXPECT_EQ(run(true, 1), "11 21 ");
  EXPECT_EQ(run(false, 0), "-10 10 ");
  EXPECT_EQ(run(false, 3), "20 10 ");
}

TEST(Lifetimes, H32_AfterAThrowAtEachCallTheStateIsResumed) {
  const CodePtr code = code_of(kBranching);
  for (const bool flag : {true, false}) {
    for (int failing = 0; failing < 4; ++failing) {
      live = 0;
      {
        const Values inputs = {opyard::Value(fresh(1)), opyard::Value(fresh(10)), flag, 3};
        InterpreterState state(code);
        Values outputs;
        countdown = failing;
        EXPECT_EQ(thrown_by([&] { state.run_one_stage(inputs, outputs); }).kind,
                  ErrorKind::BadValue);
        EXPECT_TRUE(state.is_inside_stage());
        EXPECT_EQ(state.node()->kind().name_space(), "test_lifetimes");
        InterpreterState dropped = state.clone();
        InterpreterState twin = state.clone();
        countdown = -1;
        state.resume(outputs);
        EXPECT_EQ(numbers(outputs), flag ? "21 31 " : "20 10 ");
        Values others;
        twin.resume(others);
        EXPECT_EQ(numbers(others), numbers(outputs));
      }
      EXPECT_EQ(live, 0) << "failing " << failing;
    }
  }
}

TEST(Lifetimes, H30_AStateIsClonedAndDroppedAtEachInstruction) {
  const CodePtr code = code_of(kBranching);
  live = 0;
  {
    const Values inputs = {opyard::Value(fresh(1)), opyard::Value(fresh(10)), false, 3};
    InterpreterState state(code);
    state.begin_stage(inputs);
    int steps = 0;
    do {
      InterpreterState dropped = state.clone();
      InterpreterState twin = dropped.clone();
      Values outputs;
      twin.resume(outputs);
      EXPECT_EQ(numbers(outputs), "20 10 ");
      ++steps;
    } while (state.step());
    EXPECT_GT(steps, 20);
    EXPECT_TRUE(state.is_inside_stage());
  }
  EXPECT_EQ(live, 0);
}

TEST(Lifetimes, H32_AnErrorNamesNodeStageLineAndShapes) {
  InterpreterState state(code_of(kStaged));
  countdown = 1;
  Values outputs;
  const std::string text =
      thrown_by([&] {
        state.run_one_stage(Values{opyard::Value(fresh(1)), opyard::Value(fresh(2))}, outputs);
      }).text;
  countdown = -1;
  EXPECT_EQ(text,
            "planted\nin %b : Tensor = test_lifetimes::plus(%a, %x) (stage 0, <graph>:4:3), where "
            "%a is float32[], %x is float32[]");
}

TEST(Lifetimes, H33_AnOperationWithAWrongNumberOfOutputsIsNamed) {
  const GraphPtr graph = make_graph();
  Value* const x = graph->add_input("x");
  Node* const node = graph->append_node(graph->create(prim::CppOp, {x}));
  graph->register_output(node->output());
  int count = 0;
  node->set_payload(
      cpp_operation("give", [&](std::span<const opyard::Value> inputs, Values& outputs) {
        for (int i = 0; i < count; ++i) outputs.push_back(inputs[0]);
      }));
  const CodePtr code = compile(graph);
  const Values inputs = {opyard::Value(fresh(1))};
  EXPECT_EQ(thrown_by([&] { code->run(inputs); }).text,
            "operation 'give' gave 0 values, but its node has 1 outputs\n"
            "in %1 : Tensor = prim::CppOp(%x) (stage 0), where %x is float32[]");
  count = 2;
  EXPECT_EQ(thrown_by([&] { code->run(inputs); }).kind, ErrorKind::BadReturn);
  count = 1;
  EXPECT_TRUE(code->run(inputs)[0].identical(inputs[0]));
  node->set_payload(cpp_operation(
      "give", [](std::span<const opyard::Value>, Values& outputs) { outputs.emplace_back(5); }));
  EXPECT_EQ(thrown_by([&] { code->run(inputs); }).text,
            "the graph was changed after this code was made of it; make a new code");
  EXPECT_EQ(thrown_by([&] { compile(graph)->run(inputs); }).text,
            "operation 'give' gave Int (5) as output 0, but %1 is Tensor\n"
            "in %1 : Tensor = prim::CppOp(%x) (stage 0), where %x is float32[]");
}

TEST(Lifetimes, H34_AStateIsForOneThread) {
  const GraphPtr graph = make_graph();
  jit::Value* const input = graph->add_input("x");
  input->set_type(parse_type("int"));
  Node* const node = graph->append_node(graph->create(prim::CppOp, {}, 0));
  InterpreterState* entered = nullptr;
  std::vector<std::string> texts;
  node->set_payload(cpp_operation("enter", [&](std::span<const opyard::Value>, Values&) {
    std::thread([&] {
      const auto try_to = [&](auto&& enter) { texts.push_back(thrown_by(enter).text); };
      try_to([&] { entered->clone(); });
      try_to([&] { entered->step(); });
      try_to([&] { entered->run_to(node); });
      try_to([&] { entered->read(input); });
      try_to([&] { entered->live_values(); });
      try_to([&] { entered->save(); });
      try_to([&] { entered->times(); });
    }).join();
  }));
  InterpreterState state(compile(graph));
  entered = &state;
  Values outputs;
  state.run_one_stage(Values{1}, outputs);
  EXPECT_EQ(texts.size(), 7U);
  for (const std::string& text : texts) {
    EXPECT_EQ(text,
              "this state is in use, by another thread or by an operation that it runs; clone it");
  }
}

TEST(Lifetimes, H42_AConstantIsSharedAndAListIsNot) {
  const CodePtr code = code_of(R"(graph():
  %t : Long() = prim::Constant[value={7}]()
  %one : int = prim::Constant[value=1]()
  %list : int[] = prim::Constant[value=[1, 2]]()
  %same : int[] = aten::append(%list, %one)
  %u : Tensor = prim::Undefined()
  return (%t, %list, %u)
)");
  const Values first = code->run({});
  const Values second = code->run({});
  EXPECT_TRUE(first[0].identical(second[0]));
  EXPECT_EQ(repr(first[1]), "[1, 2, 1]");
  EXPECT_EQ(repr(second[1]), "[1, 2, 1]") << "each run has a list of its own";
  EXPECT_FALSE(first[2].to_tensor().defined());
}

TEST(Lifetimes, AnOperatorThatIsTakenBackRaisesAsACallWould) {
  operators();
  auto library = std::make_unique<Library>(LibraryKind::Def, "test_gone", std::nullopt, "here");
  library->def("same(Tensor a) -> Tensor");
  library->impl("same", DispatchKey::CPU, [](const Tensor& a) { return a; });
  const CodePtr code =
      compile(parse_graph("graph(%x):\n  %y = test_gone::same(%x)\n  return (%y)"));
  const Values inputs = {opyard::Value(fresh(1))};
  EXPECT_TRUE(code->run(inputs)[0].identical(inputs[0]));
  library.reset();
  EXPECT_EQ(thrown_by([&] { code->run(inputs); }).kind, ErrorKind::OperatorGone);
}

TEST(Checks, TypesThatDoNotFitAreRefusedBeforeAnythingRuns) {
  const auto refused = [](std::string_view text) { return thrown_by([&] { code_of(text); }).text; };
  EXPECT_EQ(
      refused("graph(%x : int):\n  %y : Tensor = aten::add(%x, %x)\n  return (%y)"),
      "%y = aten::add (stage 0, <graph>:2:3) gives int as output 0, which is declared as Tensor");
  EXPECT_EQ(refused("graph(%x : int):\n  prim::If(%x)\n    block0():\n      -> ()\n    block1():\n"
                    "      -> ()\n  return ()"),
            "prim::If (stage 0, <graph>:2:3) has input 0 of type int, where bool is wanted");
  EXPECT_EQ(refused("graph():\n  %y : str = prim::Constant[value=3]()\n  return (%y)"),
            "%y = prim::Constant (stage 0, <graph>:2:3) holds 3, which is no str");
  EXPECT_EQ(
      refused("graph(%x : int[]):\n  %y : int, %z : Tensor = prim::ListUnpack(%x)\n  return (%y)"),
      "%y, %z = prim::ListUnpack (stage 0, <graph>:2:3) gives int as output 1, which is declared "
      "as Tensor");
  EXPECT_NE(refused("graph(%x):\n  %y = nobody::knows(%x)\n  return (%y)")
                .find("there is no operator 'nobody::knows'"),
            std::string::npos);
  EXPECT_NE(refused("graph(%x):\n  %y = prim::PythonOp[cconv=\"t\"](%x)\n  return (%y)")
                .find("has no function"),
            std::string::npos);
  EXPECT_EQ(
      refused("graph(%l : Any[], %x):\n  %y : Tensor = test_lifetimes::plus(%l, %x)\n  return (%y)")
          .substr(0, 60),
      "%y = test_lifetimes::plus (stage 0, <graph>:2:3): no overloa");
}

TEST(Checks, AnItemOfATupleIsCountedFromEitherEnd) {
  const auto item = [](int at) {
    return "graph(%a : int, %b : str):\n  %t : (int, str) = prim::TupleConstruct(%a, %b)\n"
           "  %i : int = prim::Constant[value=" +
           std::to_string(at) + "]()\n  %y : " + (at % 2 == 0 ? "int" : "str") +
           " = prim::TupleIndex(%t, %i)\n  return (%y)";
  };
  for (const int at : {-2, 0}) {
    EXPECT_EQ(compile(graph_of(item(at)))->run(Values{3, "text"})[0].to_int(), 3);
  }
  for (const int at : {-1, 1}) {
    EXPECT_EQ(compile(graph_of(item(at)))->run(Values{3, "text"})[0].to_string_view(), "text");
  }
  for (const int at : {-3, 2}) {
    EXPECT_EQ(thrown_by([&] { compile(graph_of(item(at))); }).kind, ErrorKind::BadGraph);
  }
}

TEST(Checks, ADictTakesKeysAndValuesInTurn) {
  const auto dict = [](const char* inputs) {
    return std::string("graph(%k : str, %v : int):\n  %d : Dict(str, int) = prim::DictConstruct(") +
           inputs + ")\n  return (%d)";
  };
  EXPECT_EQ(text_of(compile(graph_of(dict("%k, %v")))->run(Values{"key", 3})), "{\"key\": 3}");
  EXPECT_EQ(thrown_by([&] { compile(graph_of(dict("%v, %k"))); }).kind, ErrorKind::BadGraph);
}

TEST(Checks, AnAttributeOfAnOperatorIsRefused) {
  EXPECT_NE(
      thrown_by([] {
        code_of("graph(%x):\n  %y : Tensor = test_lifetimes::plus[alpha=2](%x, %x)\n  return (%y)");
      })
          .text.find(
              "has an attribute 'alpha', and calls an operator, which takes its arguments as "
              "inputs"),
      std::string::npos);
}

TEST(Seeing, P2_AListIsNotRepeatedPastTheBudget) {
  ParseOptions options;
  options.untrusted = true;
  const CodePtr code = compile(parse_graph(R"(graph(%n : int):
  %l : int[] = prim::ListConstruct(%n)
  %m : int[] = aten::mul(%l, %n)
  return (%m)
)",
                                           options));
  InterpreterState state(code);
  state.set_budget({.bytes = 1 << 20});
  Values outputs;
  EXPECT_NE(thrown_by([&] {
              state.run_one_stage(Values{std::int64_t{1} << 40}, outputs);
            }).text.find("the budget of memory of this run is used up"),
            std::string::npos);
}

TEST(Seeing, X24_TheReportSaysWhatLivesWhen) {
  EXPECT_EQ(to_string(lifetimes(*code_of(kStaged))),
            "stage 0: at most 3 values live, before instruction 3: %a, %dead, %c\n"
            "  %a lives on for %d : Tensor = test_lifetimes::plus(%g, %a)\n"
            "  unused inputs, never held: %unused\n"
            "  unused outputs, freed at once: %dead\n"
            "stage 1: at most 2 values live, before instruction 5: %a, %g\n"
            "  %g lives on for an output of a later stage\n"
            "  unused inputs, never held: none\n"
            "  unused outputs, freed at once: none\n"
            "stage 2: at most 1 values live, before instruction 7: %g\n"
            "  unused inputs, never held: none\n"
            "  unused outputs, freed at once: none\n");
}

TEST(Seeing, X24_AValueThatIsHeldTooLongIsFound) {
  const CodePtr code = code_of(kStaged);
  // A defect is planted: no operand is marked as a last use.
  for (std::uint32_t& operand : const_cast<CodeData&>(code->data()).operands) operand &= ~kLastUse;
  InterpreterState state(code);
  state.check_frees(true);
  Values outputs;
  const Values inputs = {opyard::Value(fresh(1)), opyard::Value(fresh(2))};
  EXPECT_NE(thrown_by([&] {
              state.run_one_stage(inputs, outputs);
            }).text.find("is held behind its last use"),
            std::string::npos);
}

TEST(Seeing, X23_StepsTimesAndRegisters) {
  const CodePtr code = code_of(kStaged);
  InterpreterState state(code);
  state.measure(true);
  state.begin_stage(Values{opyard::Value(fresh(1)), opyard::Value(fresh(2))});
  const Value* const a = code->graph().find_value("a");
  EXPECT_FALSE(state.read(a).has_value());
  ASSERT_TRUE(state.run_to(code->graph().find_value("b")->node()));
  EXPECT_EQ(number(state.read(a).value()), 2);
  Values outputs;
  state.resume(outputs);
  EXPECT_EQ(state.times().at(0).count, 1U);
  EXPECT_EQ(code->disassemble(),
            R"(stage 0: r0=%x _=%unused
   0 CallOperator2 r1 <- test_lifetimes::plus r0, r0     ; %a : Tensor = test_lifetimes::plus(%x, %x)
   1 CallOperator2 r2 <- test_lifetimes::plus r1, r0!    ; %b : Tensor = test_lifetimes::plus(%a, %x)
   2 CallOperator  r3, r4 <- test_lifetimes::pair r2!    ; %dead : Tensor, %c : Tensor = test_lifetimes::pair(%b)
   3 Drop          r3                                    ; %dead : Tensor, %c : Tensor = test_lifetimes::pair(%b)
   4 EndStage      r4!
stage 1: r5=%g
   5 CallOperator2 r6 <- test_lifetimes::plus r5, r1!    ; %d : Tensor = test_lifetimes::plus(%g, %a)
   6 EndStage      r6 r6!
stage 2:
   7 EndStage      r5!
)");
  EXPECT_NE(draw(code->graph()).find("stage 2"), std::string::npos);
}

TEST(Seeing, P2_AStrangersGraphCallsWhatIsAllowedWithinItsBudget) {
  operators();
  const char* const text = R"(graph(%x):
  %true : bool = prim::Constant[value=1]()
  %n : int = prim::Constant[value=1000000]()
  %y : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %u : Tensor):
      %t : Tensor = test_lifetimes::plus(%u, %x)
      -> (%true, %t)
  return (%y)
)";
  ParseOptions options;
  options.untrusted = true;
  EXPECT_NE(thrown_by([&] {
              compile(parse_graph(text, options));
            }).text.find("calls test_lifetimes::plus, which is not among the operators"),
            std::string::npos);
  options.allowed = {"test_lifetimes::plus"};
  const CodePtr code = compile(parse_graph(text, options));
  const Values inputs = {opyard::Value(fresh(1))};
  EXPECT_EQ(thrown_by([&] { code->run(inputs); }).text,
            "a restricted graph is run by an InterpreterState with a budget");
  const auto error_of = [&](const RunBudget* budget) {
    InterpreterState state(code);
    if (budget != nullptr) state.set_budget(*budget);
    Values outputs;
    const std::string whole = thrown_by([&] { state.run_one_stage(inputs, outputs); }).text;
    return whole.substr(0, whole.find('\n'));
  };
  EXPECT_EQ(error_of(nullptr),
            "a restricted graph runs with a budget; give the state one with set_budget()");
  const RunBudget steps{.steps = 100};
  EXPECT_EQ(error_of(&steps), "the budget of steps of this run is used up");
  const RunBudget bytes{.bytes = 1000};
  EXPECT_EQ(error_of(&bytes), "the budget of memory of this run is used up");
  const RunBudget time{.time = std::chrono::milliseconds(5)};
  EXPECT_EQ(error_of(&time), "the budget of time of this run is used up");
}

}  // namespace
}  // namespace opyard::jit::test_jit_lifetimes
