// test_jit_fuse.cpp: protects fused groups called from C++, whose callers own what they hand over.
// Suspect jit/src/code/fused_group.cpp.
//
// What groups compute is in test/python/graphs/test_jit_fuse.py and its like.
#include <gtest/gtest.h>

#include "../jit.h"
#include "opyard/jit/fuse.h"
#include "opyard/jit/interpreter_state.h"

namespace opyard::jit::test_jit_fuse {
namespace {

constexpr const char* kText = R"(graph(%x : Tensor, %y : Tensor):
  %two : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::add(%a, %x)
  %c : Tensor = aten::mul(%b, %two)
  return (%c)
)";

CodePtr fused(const char* text) {
  const GraphPtr graph = graph_of(text);
  EXPECT_EQ(passes::fuse(*graph), 1U);
  return compile(graph);
}

TEST(Fuse, ACallerWhoAloneHasAnInputKeepsIt) {
  const CodePtr code = fused(kText);
  const Values inputs = {f32({5}, {1, 2, 3, 4, 5}), f32({5}, {1, 1, 2, 2, 3})};
  ASSERT_EQ(inputs[0].to_tensor().impl()->owner_count(), 1U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(text_of(code->run(inputs)), "float32[5] 4 8 18 24 40");
  EXPECT_EQ(text_of(inputs), "float32[5] 1 2 3 4 5; float32[5] 1 1 2 2 3");
}

TEST(Fuse, AStateAndItsCopyBothHaveTheInputOfAGroup) {
  const CodePtr code = fused(R"(graph(%x : Tensor):
  %none : NoneType = prim::Constant()
  %two : int = prim::Constant[value=2]()
  %m : Tensor = aten::clone(%x, %none)
  return ()
stage 1(%y : Tensor):
  %a : Tensor = aten::mul(%m, %y)
  %b : Tensor = aten::add(%a, %m)
  %c : Tensor = aten::mul(%b, %two)
  return (%c)
)");
  InterpreterState state(code);
  Values outputs;
  state.run_one_stage(Values{f32({5}, {1, 2, 3, 4, 5})}, outputs);
  InterpreterState copy = state.clone();
  const Values y = {f32({5}, {1, 1, 2, 2, 3})};
  for (InterpreterState* const one : {&state, &copy}) {
    one->run_one_stage(y, outputs);
    EXPECT_EQ(text_of(outputs), "float32[5] 4 8 18 24 40");
  }
}

}  // namespace
}  // namespace opyard::jit::test_jit_fuse
