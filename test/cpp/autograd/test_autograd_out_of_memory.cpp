// test_autograd_out_of_memory.cpp: allocations that fail while calls are taped and run backwards.
// Suspect autograd/src/.
//
// Each in turn: nothing is lost, and the next step works.
#include <gtest/gtest.h>

#include "../aten.h"
#include "../counting_new.h"
#include "../jit.h"
#include "opyard/autograd.h"
#include "opyard/autograd/pullback.h"
#include "opyard/jit/interpreter_state.h"
#include "opyard/jit/operation.h"
#include "opyard/library.h"

namespace opyard::test_autograd_out_of_memory {
namespace {

using namespace autograd;  // NOLINT: this file is about it

Tensor numbers(std::initializer_list<float> values) {
  const Tensor tensor = Tensor::empty(std::array{std::int64_t(values.size())});
  std::copy(values.begin(), values.end(), tensor.mutable_data<float>());
  return tensor;
}

using Pair = Tensor(const Tensor&, const Tensor&);

class Step {
 public:
  Step() {
    load_library(kKernelsLibrary);
    require_gradient(w);
  }
  // A step with what taping does: saved arguments and results, a view, a write to shared memory.
  void run() const {
    const Tensor y = exp.call(mul.call(x, w));
    const Tensor buffer = numbers({0, 0, 0});
    const Tensor row = select.call(buffer, 0, 1);
    copy.call(row, select.call(y, 0, 1), false);
    backward(sum.call(mul.call(buffer, buffer), std::nullopt));
  }
  float gradient() const { return gradient_of(w).data<float>()[1]; }
  void forget() const { set_gradient(w, {}); }

  const Tensor x = numbers({0, 0, 0});
  const Tensor w = numbers({1, 2, 3});

 private:
  template <typename Signature>
  static TypedOperator<Signature> op(const char* name) {
    static_cast<void>(load_library(kKernelsLibrary));
    return require_operator(name).typed<Signature>();
  }
  const TypedOperator<Pair> mul = op<Pair>("aten::mul.Tensor");
  const TypedOperator<Tensor(const Tensor&)> exp = op<Tensor(const Tensor&)>("aten::exp");
  const TypedOperator<Tensor(const Tensor&, std::optional<DType>)> sum =
      op<Tensor(const Tensor&, std::optional<DType>)>("aten::sum");
  const TypedOperator<Tensor(const Tensor&, std::int64_t, std::int64_t)> select =
      op<Tensor(const Tensor&, std::int64_t, std::int64_t)>("aten::select.int");
  const TypedOperator<Tensor&(Tensor&, const Tensor&, bool)> copy_op =
      op<Tensor&(Tensor&, const Tensor&, bool)>("aten::copy_");
  struct Copy {
    const TypedOperator<Tensor&(Tensor&, const Tensor&, bool)>& op;
    void call(Tensor to, const Tensor& from, bool now) const { op.call(to, from, now); }
  };
  const Copy copy{copy_op};
};

TEST(AutogradOutOfMemory, AStepFailsAtEachRequestAndTheNextOneWorks) {
  const Step step;
  for (int i = 0; i < 3; ++i) step.run();  // what is made at first use
  step.forget();
  step.run();
  const float wanted = step.gradient();
  long requests = 0;
  for (const bool once : {true, false}) {
    for (long n = 0;; ++n) {
      step.forget();
      const long live = counting::live;
      bool failed = false;
      bool refused = false;
      {
        const counting::Failure failure(n, once);
        try {
          step.run();
        } catch (const std::bad_alloc&) {
          failed = true;
        }
        refused = counting::refused;
      }
      step.forget();
      EXPECT_EQ(counting::live, live) << "request " << n;
      EXPECT_EQ(failed, refused) << "request " << n << " was refused and no one was told";
      step.run();
      EXPECT_EQ(step.gradient(), wanted) << "after request " << n;
      requests = n;
      if (!refused || HasFailure()) break;
    }
  }
  EXPECT_GT(requests, 40);
}

// x * x in stage 0, which gives a pullback; stage 1 runs backward from it.
class Staged {
 public:
  Staged() {
    jit::load_operators();
    jit::Value* const x = graph_->add_input("x");
    jit::Node* const node = graph_->append_node(graph_->create(jit::prim::CppOp, {x}, 1));
    node->set_payload(jit::cpp_operation(
        "square", [op = require_operator("aten::mul.Tensor").typed<Pair>()](
                      std::span<const Value> inputs, std::vector<Value>& outputs) {
          outputs.emplace_back(op.call(inputs[0].to_tensor(), inputs[0].to_tensor()));
        }));
    jit::Value* const pullback = add_pullback(*node);
    graph_->register_output(node->outputs()[0]);
    graph_->advance_stage();
    jit::Value* const gradient = graph_->add_input("g");
    jit::Node* const eval = graph_->append_node(create_eval(*graph_, {&gradient, 1}, pullback));
    graph_->register_output(eval->outputs()[0]);
    code_ = jit::compile(graph_);
  }
  float run() const {
    jit::InterpreterState state(code_);
    jit::Values outputs;
    state.run_one_stage({&x_, 1}, outputs);
    state.run_one_stage({&gradient_, 1}, outputs);
    return outputs[0].to_tensor().data<float>()[1];
  }

 private:
  const jit::GraphPtr graph_ = jit::make_graph();
  jit::CodePtr code_;
  const Value x_ = Value(numbers({1, 2}));
  const Value gradient_ = Value(numbers({1, 1}));
};

TEST(AutogradOutOfMemory, H40_APullbackFailsAtEachRequestAndTheNextRunWorks) {
  const Staged staged;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(staged.run(), 4);
  long requests = 0;
  for (const bool once : {true, false}) {
    for (long n = 0;; ++n) {
      const long live = counting::live;
      bool failed = false;
      bool refused = false;
      {
        const counting::Failure failure(n, once);
        try {
          staged.run();
        } catch (const std::bad_alloc&) {
          failed = true;
        }
        refused = counting::refused;
      }
      EXPECT_EQ(counting::live, live) << "request " << n;
      EXPECT_EQ(failed, refused) << "request " << n << " was refused and no one was told";
      EXPECT_EQ(staged.run(), 4) << "after request " << n;
      requests = n;
      if (!refused || HasFailure()) break;
    }
  }
  EXPECT_GT(requests, 15);
}

}  // namespace
}  // namespace opyard::test_autograd_out_of_memory
