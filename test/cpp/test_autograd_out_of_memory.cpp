// test_autograd_out_of_memory.cpp: protects that recording and running backwards fail cleanly when an allocation
// does, at every one of them: nothing is lost, and the next step works.
#include <gtest/gtest.h>

#include "aten.h"
#include "counting_new.h"
#include "opyard/autograd.h"
#include "opyard/library.h"

namespace opyard {
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
  // A step with what recording does: saved arguments and results, a view, a write to shared memory.
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
      EXPECT_EQ(failed, refused) << "request " << n << " was refused and nobody was told";
      step.run();
      EXPECT_EQ(step.gradient(), wanted) << "after request " << n;
      requests = n;
      if (!refused || HasFailure()) break;
    }
  }
  EXPECT_GT(requests, 40);
}

}  // namespace
}  // namespace opyard
