// test_pullbacks.cpp: pullbacks in graphs from C++: calls that a later stage runs backward from.
// Suspect autograd/src/pullback.cpp.
#include <gtest/gtest.h>

#include "../jit.h"
#include "../thrown_by.h"
#include "opyard/autograd.h"
#include "opyard/autograd/pullback.h"
#include "opyard/jit/interpreter_state.h"
#include "opyard/jit/operation.h"
#include "opyard/library.h"

namespace opyard::test_pullbacks {
namespace {

using autograd::add_pullback;
using autograd::create_eval;
using jit::Values;

Tensor of(std::initializer_list<float> values) {
  Tensor tensor = Tensor::empty(std::array{std::int64_t(values.size())});
  std::copy(values.begin(), values.end(), tensor.mutable_data<float>());
  return tensor;
}
Tensor mul(const Tensor& a, const Tensor& b) {
  return require_operator("aten::mul.Tensor")
      .typed<Tensor(const Tensor&, const Tensor&)>()
      .call(a, b);
}

// f(x, w) = x * x * w, as a function of C++ that notes what it was run with.
struct Seen {
  int runs = 0;
  bool taped = false;
};
jit::Node* append_product(jit::Graph& graph, Seen& seen, jit::Value* x, jit::Value* w) {
  jit::Node* const node = graph.append_node(graph.create(jit::prim::CppOp, {x, w}, 1));
  node->set_payload(jit::cpp_operation(
      "product", [&seen](std::span<const Value> inputs, std::vector<Value>& outputs) {
        const Tensor product =
            mul(mul(inputs[0].to_tensor(), inputs[0].to_tensor()), inputs[1].to_tensor());
        ++seen.runs;
        seen.taped = autograd::requires_gradient(product);
        outputs.emplace_back(product);
      }));
  return node;
}

class Pullbacks : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { jit::load_operators(); }

  // Stage 0 gives the product, stage 1 what runs backward from it.
  void build(std::optional<std::vector<bool>> requires_gradient = {}) {
    jit::Value* const x = graph_->add_input("x");
    jit::Value* const w = graph_->add_input("w");
    product_ = append_product(*graph_, seen_, x, w);
    pullback_ = add_pullback(*product_, std::move(requires_gradient));
    graph_->register_output(product_->outputs()[0]);
    graph_->advance_stage();
    jit::Value* const gradient = graph_->add_input("g");
    eval_ = graph_->append_node(create_eval(*graph_, {&gradient, 1}, pullback_));
    for (jit::Value* const output : eval_->outputs()) graph_->register_output(output);
  }
  static Values run_stage(jit::InterpreterState& state, const Values& inputs) {
    Values outputs;
    state.run_one_stage(inputs, outputs);
    return outputs;
  }

  const jit::GraphPtr graph_ = jit::make_graph();
  Seen seen_;
  jit::Node* product_ = nullptr;
  jit::Value* pullback_ = nullptr;
  jit::Node* eval_ = nullptr;
};

TEST_F(Pullbacks, H40_AStageRunsBackwardFromThePullbackOfAnEarlierOne) {
  build();
  jit::InterpreterState state(jit::compile(graph_));
  EXPECT_EQ(jit::text_of(run_stage(state, {of({2, 3}), of({5, 7})})), "float32[2] 20 63");
  jit::InterpreterState again = state.clone();
  // 2 * x * w * g and x * x * g
  EXPECT_EQ(jit::text_of(run_stage(state, {of({1, 1})})), "float32[2] 20 42; float32[2] 4 9");
  // The pullback is kept by the other state, whose graph was kept.
  EXPECT_EQ(jit::text_of(run_stage(again, {of({10, 0})})), "float32[2] 200 0; float32[2] 40 0");
  EXPECT_EQ(seen_.runs, 1);
}

TEST_F(Pullbacks, H38_OnlyInputsThatRequireAGradientHaveOne) {
  build(std::vector<bool>{false, true});
  EXPECT_EQ(eval_->outputs().size(), 1U);
  jit::InterpreterState state(jit::compile(graph_));
  run_stage(state, {of({2}), of({5})});
  EXPECT_EQ(jit::text_of(run_stage(state, {of({1})})), "float32[1] 4");
}

TEST_F(Pullbacks, H38_OutputsAndGradientsHaveNoHistoryOutside) {
  build();
  const Tensor x = of({2});
  autograd::require_gradient(x);
  jit::InterpreterState state(jit::compile(graph_));
  const Values first = run_stage(state, {x, of({5})});
  EXPECT_TRUE(seen_.taped);
  EXPECT_FALSE(autograd::requires_gradient(first[0].to_tensor()));
  const Values second = run_stage(state, {of({1})});
  EXPECT_FALSE(autograd::requires_gradient(second[0].to_tensor()));
  EXPECT_FALSE(autograd::gradient_of(x).defined());
}

TEST_F(Pullbacks, H37_APullbackThatNothingUsesIsNotMade) {
  jit::Value* const x = graph_->add_input("x");
  product_ = append_product(*graph_, seen_, x, x);
  add_pullback(*product_);
  graph_->register_output(product_->outputs()[0]);
  const Tensor input = of({2});
  EXPECT_EQ(jit::text_of(jit::compile(graph_)->run(Values{input})), "float32[1] 8");
  EXPECT_FALSE(seen_.taped);
  autograd::require_gradient(input);  // the boundary is there all the same
  EXPECT_FALSE(
      autograd::requires_gradient(jit::compile(graph_)->run(Values{input})[0].to_tensor()));
  EXPECT_FALSE(seen_.taped);
}

TEST_F(Pullbacks, G20_TheEndOfTheLastOwnerFreesTheFunctions) {
  const auto marker = std::make_shared<int>(0);
  jit::Value* const x = graph_->add_input("x");
  jit::Node* const node = graph_->append_node(graph_->create(jit::prim::CppOp, {x}, 1));
  node->set_payload(
      jit::cpp_operation("marked", [weak = std::weak_ptr<int>(marker)](
                                       std::span<const Value> inputs, std::vector<Value>& outputs) {
        const Tensor given = inputs[0].to_tensor();
        const Tensor result = autograd::detached(given);
        const autograd::FunctionPtr function = autograd::make_function(
            "Marked", {&given, 1},
            [held = weak.lock()](autograd::Gradients gradients) { return gradients; });
        autograd::set_history(result, {function, function->add_input(result)});
        outputs.emplace_back(result);
      }));
  jit::Value* const pullback = add_pullback(*node);
  graph_->advance_stage();
  jit::Value* const g = graph_->add_input("g");
  jit::Node* const eval = graph_->append_node(create_eval(*graph_, {&g, 1}, pullback));
  graph_->register_output(eval->output());
  {
    jit::InterpreterState state(jit::compile(graph_));
    run_stage(state, {of({2})});
    EXPECT_EQ(marker.use_count(), 2);
    jit::InterpreterState other = state.clone();
    run_stage(state, {of({3})});
    EXPECT_EQ(marker.use_count(), 2);  // the other state's
    EXPECT_EQ(jit::text_of(run_stage(other, {of({3})})), "float32[1] 3");
    EXPECT_EQ(marker.use_count(), 1);
  }
}

// The second derivative: a pullback of an Eval, evaluated by a third stage.
TEST_F(Pullbacks, H40_AnEvalGivesAPullbackItself) {
  build();
  jit::Value* const pullback = add_pullback(*eval_);
  graph_->advance_stage();
  jit::Value* const of_x = graph_->add_input("gx");
  jit::Value* const of_w = graph_->add_input("gw");
  const std::array gradients{of_x, of_w};
  jit::Node* const second = graph_->append_node(create_eval(*graph_, gradients, pullback));
  ASSERT_EQ(second->outputs().size(), 1U);  // for the gradient that the first one took
  graph_->register_output(second->outputs()[0]);
  jit::InterpreterState state(jit::compile(graph_));
  run_stage(state, {of({2}), of({5})});
  EXPECT_EQ(jit::text_of(run_stage(state, {of({1})})), "float32[1] 20; float32[1] 4");
  // d(2 x w g)/dg = 20 and d(x x g)/dg = 4
  EXPECT_EQ(jit::text_of(run_stage(state, {of({1}), of({10})})), "float32[1] 60");
}

TEST_F(Pullbacks, H39_AFunctionThatIsEvalRunsBackward) {
  build();
  jit::Node* const evaluates =
      graph_->append_node(graph_->create(jit::prim::CppOp, {graph_->inputs()[2], pullback_}, 2));
  evaluates->set_payload(
      CountedPtr<Counted>::share(const_cast<jit::Operation*>(jit::operation_of(*eval_))));
  graph_->register_output(evaluates->outputs()[1]);
  jit::InterpreterState state(jit::compile(graph_));
  run_stage(state, {of({2}), of({5})});
  EXPECT_EQ(jit::text_of(run_stage(state, {of({1})})), "float32[1] 20; float32[1] 4; float32[1] 4");
}

TEST_F(Pullbacks, H39_AnOutputThatIsAnInputLeadsToIt) {
  jit::Value* const x = graph_->add_input("x");
  jit::Node* const node = graph_->append_node(graph_->create(jit::prim::CppOp, {x}, 2));
  node->set_payload(
      jit::cpp_operation("both", [](std::span<const Value> inputs, std::vector<Value>& outputs) {
        outputs.push_back(inputs[0]);
        outputs.emplace_back(Tensor());
      }));
  jit::Value* const pullback = add_pullback(*node);
  graph_->advance_stage();
  jit::Value* const g = graph_->add_input("g");
  jit::Node* const nothing = graph_->append_node(graph_->create(jit::prim::Undefined, {}, 1));
  const std::array gradients{g, nothing->output()};
  jit::Node* const eval = graph_->append_node(create_eval(*graph_, gradients, pullback));
  graph_->register_output(eval->output());
  jit::InterpreterState state(jit::compile(graph_));
  run_stage(state, {of({2})});
  EXPECT_EQ(jit::text_of(run_stage(state, {of({3})})), "float32[1] 3");
}

TEST_F(Pullbacks, H40_ItIsTapedUnderInferenceModeAndWithoutGradientsToo) {
  build();
  const Tensor x = of({2});
  const Tensor w = of({5});
  const Tensor g = of({1});
  const autograd::InferenceGuard inference;
  jit::InterpreterState state(jit::compile(graph_));
  run_stage(state, {x, w});
  EXPECT_TRUE(seen_.taped);
  EXPECT_EQ(jit::text_of(run_stage(state, {g})), "float32[1] 20; float32[1] 4");
}

TEST_F(Pullbacks, H40_WrongGradientsAreNamed) {
  build();
  jit::InterpreterState state(jit::compile(graph_));
  run_stage(state, {of({2, 3}), of({5, 7})});
  EXPECT_EQ(thrown_by([&] { run_stage(state, {of({1})}); }).kind, ErrorKind::BadShape);
  jit::Value* const x = graph_->inputs()[0];
  EXPECT_EQ(thrown_by([&] { create_eval(*graph_, {}, pullback_); }).kind, ErrorKind::BadValue);
  EXPECT_EQ(thrown_by([&] { create_eval(*graph_, {&x, 1}, x); }).kind, ErrorKind::BadValue);
  EXPECT_EQ(thrown_by([&] { add_pullback(*product_); }).kind, ErrorKind::BadValue);
  jit::Node* const plain = graph_->create(jit::Symbol::from_qual_string("aten::relu"), {x}, 1);
  EXPECT_EQ(thrown_by([&] { add_pullback(*plain); }).kind, ErrorKind::BadValue);
  jit::Node* const other = append_product(*graph_, seen_, x, x);
  EXPECT_EQ(thrown_by([&] { add_pullback(*other, std::vector<bool>{true}); }).kind,
            ErrorKind::BadValue);
}

TEST_F(Pullbacks, H36_AnEvalIsReadFromAText) {
  autograd::join_graphs();
  build();
  const std::string text = to_string(*graph_);
  EXPECT_NE(text.find("Pullback = prim::CppOp"), std::string::npos) << text;
  EXPECT_NE(text.find("prim::Eval(%g, %"), std::string::npos) << text;
  const jit::GraphPtr read = jit::parse_graph(R"(graph(%h : Pullback):
  return ()
stage 1(%g : Tensor):
  %x : Tensor = prim::Eval(%g, %h)
  return (%x)
)");
  EXPECT_EQ(jit::compile(read)->stage_count(), 2U);
}

}  // namespace
}  // namespace opyard::test_pullbacks
