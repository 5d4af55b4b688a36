// test_jit_state.cpp: protects codes and states: sharing, registers, the inputs of stages, saving
// and loading. Suspect jit/src/code/interpreter_state.cpp, save_state.cpp and load_state.cpp.
#include <gtest/gtest.h>

#include "../jit.h"
#include "../thrown_by.h"
#include "opyard/detail/value/future_object.h"
#include "opyard/jit/interpreter_state.h"
#include "opyard/value/dict.h"

namespace opyard::jit::test_jit_state {
namespace {

// Three stages; %x and its view %v live on, and so does the list.
constexpr const char* kStaged = R"(graph(%x : Tensor,
      %n : int):
  %v : Tensor = aten::t(%x)
  %l : int[] = prim::ListConstruct(%n, %n)
  %twice : Tensor = aten::mul(%x, %x)
  return (%twice)
stage 1():
  %seen : Tensor = aten::relu_(%x)
  %len : int = aten::len(%l)
  return (%len)
stage 2(%y : Tensor):
  %sum : Tensor = aten::add(%v, %y)
  return (%sum, %l)
)";

Values run_rest(InterpreterState& state, const std::vector<Values>& inputs) {
  Values all;
  for (std::size_t stage = state.stage(); stage < state.code()->stage_count(); ++stage) {
    Values outputs;
    state.run_one_stage(inputs[stage], outputs);
    for (const opyard::Value& output : outputs) all.push_back(output);
  }
  return all;
}

TEST(Code, H20_ItIsSharedAndKeepsItsGraphAlive) {
  CodePtr code;
  {
    const GraphPtr graph = graph_of("graph(%x : int):\n  return (%x)\n");
    code = compile(graph);
    EXPECT_EQ(graph->owner_count(), 2U);
  }
  InterpreterState first(code);
  InterpreterState second(code);
  EXPECT_EQ(code->owner_count(), 3U);
  EXPECT_EQ(text_of(code->run(Values{3})), "3");
  EXPECT_EQ(to_string(code->graph()), "graph(%x : int):\n  return (%x)\n");
}

TEST(Code, H22_AnInputOfALaterStageMakesThoseBehindItWait) {
  const GraphPtr graph = make_graph();
  graph->add_input("a");
  graph->advance_stage();
  graph->add_input("b");
  graph->advance_stage();
  graph->add_input("c");
  const CodePtr code = compile(graph);
  EXPECT_EQ(code->input_count(0), 1U);
  EXPECT_EQ(code->input_count(1), 1U);
  EXPECT_EQ(code->input_count(2), 1U);
  // One that was moved in front of the others keeps its stage, so that stage 0 takes none.
  graph->block()->param_node()->permute_outputs(std::vector<std::size_t>{1, 0, 2});
  const CodePtr moved = compile(graph);
  EXPECT_EQ(moved->input_count(0), 0U);
  EXPECT_EQ(moved->input_count(1), 2U);
  EXPECT_EQ(moved->input_count(2), 1U);
}

TEST(Code, H24_AUseBeforeTheDefinitionIsFound) {
  const GraphPtr graph = graph_of(R"(graph(%x : Tensor):
  %1 : Tensor = aten::relu(%x)
  %2 : Tensor = aten::t(%1)
  return (%2)
)");
  Node* const relu = *graph->nodes().begin();
  relu->next()->move_before(relu);
  EXPECT_EQ(thrown_by([&] { compile(graph); }).text,
            "%2 = aten::t (stage 0, <graph>:3:3) takes %1, which is not defined before it");
}

TEST(Code, H26_OperandsAreFlatAndMarkedAtTheirLastUse) {
  EXPECT_EQ(compile(graph_of(R"(graph(%x : Tensor, %y : Tensor):
  %1 : Tensor = aten::mul(%x, %x)
  %2 : Tensor = aten::mul(%1, %y)
  return (%2)
)"))
                ->disassemble(),
            R"(stage 0: r0=%x r1=%y
   0 CallOperator2 r2 <- aten::mul.Tensor r0, r0!        ; %1 : Tensor = aten::mul(%x, %x)
   1 CallOperator2 r3 <- aten::mul.Tensor r2!, r1!       ; %2 : Tensor = aten::mul(%1, %y)
   2 EndStage      r3!
)");
}

TEST(State, H28_InputsAreSharedAndOutputsMove) {
  const CodePtr code = compile(graph_of(R"(graph(%x : Tensor):
  %1 : Tensor = aten::mul(%x, %x)
  return (%x, %1, %x)
stage 1():
  return (%1)
)"));
  const Tensor x = f32({1}, {3});
  InterpreterState state(code);
  Values outputs = {opyard::Value("old")};
  state.run_one_stage(Values{x}, outputs);
  ASSERT_EQ(outputs.size(), 3U) << "what was in the outputs is gone";
  EXPECT_TRUE(outputs[0].to_tensor().same(x));
  EXPECT_EQ(x.impl()->owner_count(), 3U) << "x, and the two outputs; the register was moved from";
  EXPECT_EQ(outputs[1].to_tensor().impl()->owner_count(), 2U) << "stage 1 needs it";
  const Tensor kept = outputs[1].to_tensor();
  state.run_one_stage({}, outputs);
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(kept.impl()->owner_count(), 2U) << "this one, and the output";
}

TEST(State, H35_EveryRegisterIsReleasedOnceWhereverTheStateIsDropped) {
  const CodePtr code = compile(graph_of(kStaged));
  const std::vector<Values> inputs = {{f32({1, 1}, {2}), 1}, {}, {f32({1, 1}, {5})}};
  const Tensor x = inputs[0][0].to_tensor();
  for (std::size_t steps = 0; steps < code->instruction_count() + 3; ++steps) {
    {
      InterpreterState state(code);
      std::size_t left = steps;
      for (std::size_t stage = 0; stage < 3; ++stage) {
        state.begin_stage(inputs[stage]);
        while (left > 0 && state.step()) --left;
        if (left == 0) break;
        Values outputs;
        state.resume(outputs);
        --left;
      }
      const InterpreterState clone = state.clone();
    }
    EXPECT_EQ(x.impl()->owner_count(), 2U) << "after " << steps << " steps";
    EXPECT_EQ(x.impl()->storage()->owner_count(), 1U) << "after " << steps << " steps";
  }
}

// ---- Saving

TEST(SavedState, X23_GoesOnElsewhereWhereverItWas) {
  const std::vector<Values> inputs = {
      {f32({2, 2}, {-1, 2, -3, 4}), 7}, {}, {f32({2, 2}, {1, 1, 1, 1})}};
  const auto fresh = [&] {
    std::vector<Values> copies = inputs;
    copies[0][0] = f32({2, 2}, {-1, 2, -3, 4});
    return copies;
  };
  InterpreterState whole(compile(graph_of(kStaged)));
  const std::string expected = text_of(run_rest(whole, fresh()));
  EXPECT_EQ(expected, "float32[2, 2] 1 4 9 16; 2; float32[2, 2] 1 1 3 5; [7, 7]")
      << "relu_ is seen through the view";
  const CodePtr code = compile(graph_of(kStaged));
  const CodePtr other = compile(graph_of(kStaged));
  for (std::size_t stage = 0; stage < 3; ++stage) {
    for (std::size_t steps = 0; steps < 5; ++steps) {
      InterpreterState state(code);
      const std::vector<Values> given = fresh();
      Values all;
      Values outputs;
      for (std::size_t before = 0; before < stage; ++before) {
        state.run_one_stage(given[before], outputs);
        for (const auto& output : outputs) all.push_back(output);
      }
      InterpreterState loaded = [&] {
        if (steps == 0) return InterpreterState::load(other, state.save());
        state.begin_stage(given[stage]);
        for (std::size_t i = 1; i < steps && state.step(); ++i) continue;
        return InterpreterState::load(other, state.save());
      }();
      EXPECT_EQ(loaded.stage(), state.stage());
      EXPECT_EQ(loaded.instruction(), state.instruction());
      if (steps > 0) {
        loaded.resume(outputs);
        for (const auto& output : outputs) all.push_back(output);
      }
      for (const auto& output : run_rest(loaded, given)) all.push_back(output);
      EXPECT_EQ(text_of(all), expected) << stage << ' ' << steps;
    }
  }
  const InterpreterState ended = InterpreterState::load(other, whole.save());
  EXPECT_TRUE(ended.is_finished());
}

TEST(SavedState, EveryKindOfValueComesBack) {
  const CodePtr code = compile(graph_of(R"(graph(%a : Any,
      %b : Any):
  return ()
stage 1():
  return (%a, %b)
)"));
  const Tensor base = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const opyard::Value list = opyard::Value::list({1, "two", 3.5, true, opyard::Value()});
  const Values values = {
      opyard::Value(std::complex<double>(1, -2)),
      opyard::Value(Device{Backend::Meta, -1}),
      opyard::Value(Tensor()),
      opyard::Value(base.as_strided(std::vector<std::int64_t>{2}, std::vector<std::int64_t>{3}, 1)),
      opyard::Value::tuple({list, list, opyard::Value::tuple({})}),
      opyard::Value::dict({{"k", list}, {2, base}}),
      opyard::Value(Tensor::empty(std::vector<std::int64_t>{0, 4}, DType::Int64)),
  };
  for (const opyard::Value& value : values) {
    InterpreterState state(code);
    Values outputs;
    state.run_one_stage(Values{value, list}, outputs);
    InterpreterState loaded = InterpreterState::load(code, state.save());
    loaded.run_one_stage({}, outputs);
    EXPECT_EQ(text_of({outputs[0]}), text_of({value}));
    EXPECT_EQ(text_of({outputs[1]}), text_of({list}));
    if (value.is_tuple()) {
      EXPECT_EQ(&outputs[0].to_tuple()[0].to_list(), &outputs[1].to_list()) << "still one list";
    }
  }
}

TEST(SavedState, WhatIsOfThisProcessOnlyIsRefusedByName) {
  const CodePtr code = compile(graph_of(R"(graph(%a : Any):
  return ()
stage 1():
  return (%a)
)"));
  const auto refused = [&](opyard::Value value) {
    InterpreterState state(code);
    Values outputs;
    state.run_one_stage(Values{std::move(value)}, outputs);
    const Thrown thrown = thrown_by([&] { static_cast<void>(state.save()); });
    EXPECT_EQ(thrown.kind, ErrorKind::Unsupported);
    return thrown.text;
  };
  EXPECT_EQ(refused(opyard::Value(make_counted<FutureObject>())),
            "it cannot be saved: it holds a future, which has to be waited for first\nsaving %a, "
            "stage 1");
  opyard::Value list = opyard::Value::list({});
  auto& items = const_cast<std::vector<opyard::Value>&>(list.to_list());
  items.push_back(list);
  EXPECT_EQ(refused(list),
            "it cannot be saved: it holds a container that holds itself\nsaving %a, stage 1");
  items.clear();
}

std::string saved_text() {
  InterpreterState state(compile(graph_of(kStaged)));
  Values outputs;
  state.run_one_stage(Values{f32({2, 2}, {-1, 2, -3, 4}), 7}, outputs);
  return state.save();
}

TEST(SavedState, OtherBytesAreRefused) {
  const CodePtr code = compile(graph_of(kStaged));
  const std::string saved = saved_text();
  const auto refused = [&](const std::string& bytes) {
    const Thrown thrown = thrown_by([&] { InterpreterState::load(code, bytes); });
    EXPECT_EQ(thrown.kind, ErrorKind::BadValue);
    const std::string begin = "this is no saved state of the code: ";
    EXPECT_EQ(thrown.text.substr(0, begin.size()), begin);
    return thrown.text.substr(std::min(begin.size(), thrown.text.size()));
  };
  EXPECT_EQ(refused(""), "it does not begin as one");
  EXPECT_EQ(refused(saved + "x"), "1 bytes follow its end");
  for (std::size_t end = 0; end < saved.size(); ++end) refused(saved.substr(0, end));
  std::string newer = saved;
  newer[8] = 2;
  EXPECT_EQ(refused(newer), "it is of version 2, and this Opyard reads version 1");
  const CodePtr other = compile(graph_of("graph(%x : int):\n  return (%x)\n"));
  EXPECT_EQ(thrown_by([&] { InterpreterState::load(other, saved); }).text,
            "this is no saved state of the code: it was saved with another graph, or with another "
            "version "
            "of Opyard");
}

// A state whose bytes were changed is refused, or runs: whatever it holds is of the right types.
TEST(SavedState, ChangedBytesNeverReachTheInstructions) {
  const CodePtr code = compile(graph_of(kStaged));
  const std::string saved = saved_text();
  int refused = 0;
  int ran = 0;
  for (std::size_t at = 20; at < saved.size(); ++at) {
    for (const int flip : {1, 2, 0x80, 0xff}) {
      std::string changed = saved;
      changed[at] = char(changed[at] ^ flip);
      try {
        InterpreterState state = InterpreterState::load(code, changed);
        ++ran;
        Values outputs;
        if (state.is_inside_stage()) state.resume(outputs);
        run_rest(state, {{f32({2, 2}, {1, 1, 1, 1}), 7}, {}, {f32({2, 2}, {1, 1, 1, 1})}});
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(ran, 50) << "bytes of elements may be any";
}

}  // namespace
}  // namespace opyard::jit::test_jit_state
