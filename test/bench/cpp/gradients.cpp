// test/bench/cpp/gradients.cpp: cost of gradients: calls passed on, calls taped, runs backwards.
//
// A program of its own, opyard_gradients_bench, because the tape is armed for the whole process and
// never disarmed. The floors are operators with a fallthrough at all of their Autograd keys,
// which goes before the tape: their tables are as if nothing had been armed. With one at
// AutogradCPU alone they would keep the layer in their mask, and a call would stop there.
#include <ctime>

#include "bench.h"
#include "opyard/autograd.h"
#include "opyard/plugin/plugin.h"

namespace opyard::bench {
namespace {

constexpr int kChain = 1000;  // functions of a run backwards

const Tensor& pass(const Tensor& x) { return x; }
Tensor pass_counted(const Tensor& x) { return x; }
Tensor make(const Tensor&, const Tensor&) { return small_tensor(); }
Tensor give_back(const Tensor& gradient, const Tensor&) { return gradient; }

using Pass = const Tensor&(const Tensor&);
using Counted_ = Tensor(const Tensor&);
using Pair = Tensor(const Tensor&, const Tensor&);

// Seconds of this thread, as Google Benchmark counts them.
double processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

class Operators {
 public:
  static const Operators& instance() {
    static const Operators& operators = *new Operators;  // for ever, like the registry
    return operators;
  }
  template <typename Signature>
  TypedOperator<Signature> get(const char* name) const {
    return require_operator(std::string("bench_gradients::") + name).typed<Signature>();
  }

 private:
  Operators() : library_(LibraryKind::Def, "bench_gradients") {
    define("pass(Tensor x) -> Tensor", &pass);
    define("counted(Tensor x) -> Tensor", &pass_counted);
    define("make(Tensor a, Tensor b) -> Tensor", &make);
    library_.def("give_back(Tensor gradient, Tensor saved) -> Tensor");
    library_.impl("give_back", DispatchKey::CPU, &give_back);
    library_.derivative("make", {{"a", "give_back(grad, b)"}, {"b", "give_back(grad, a)"}});
    autograd::arm();
  }
  // Twice: as it is, and with the table of a process in which nothing is armed.
  template <typename F>
  void define(const std::string& schema, F kernel) {
    const std::string name = schema.substr(0, schema.find('('));
    library_.def(schema);
    library_.impl(name, DispatchKey::CPU, kernel);
    library_.def("unarmed_" + schema);
    library_.impl("unarmed_" + name, DispatchKey::CPU, kernel);
    library_.impl("unarmed_" + name, DispatchKey::Autograd, Kernel::fallthrough());
  }

  Library library_;
};

template <typename Signature>
void pass_row(benchmark::State& state, const char* name) {
  const auto op = Operators::instance().get<Signature>(name);
  const Tensor x = small_tensor();
  measure(state, [&] { benchmark::DoNotOptimize(op.call(x)); });
}
const auto* const armed_floor =
    benchmark::RegisterBenchmark("armed/floor", &pass_row<Pass>, "unarmed_pass");
const auto* const armed_ours = benchmark::RegisterBenchmark("armed/ours", &pass_row<Pass>, "pass");
const auto* const armed_counted_floor =
    benchmark::RegisterBenchmark("armed_counted/floor", &pass_row<Counted_>, "unarmed_counted");
const auto* const armed_counted_ours =
    benchmark::RegisterBenchmark("armed_counted/ours", &pass_row<Counted_>, "counted");

void boxed_row(benchmark::State& state, const char* name) {
  const auto op = Operators::instance().get<Counted_>(name);
  const Tensor x = small_tensor();
  measure(state, [&] {
    InlineStack<4> stack;
    stack.borrow(x);
    op.op().call_boxed(stack);
    benchmark::DoNotOptimize(stack.peek());
  });
}
const auto* const armed_boxed_floor =
    benchmark::RegisterBenchmark("armed_boxed/floor", &boxed_row, "unarmed_counted");
const auto* const armed_boxed_ours =
    benchmark::RegisterBenchmark("armed_boxed/ours", &boxed_row, "counted");

// Two arguments that need a gradient, both saved; the function dies with the result.
void tape_row(benchmark::State& state, const char* name) {
  const auto op = Operators::instance().get<Pair>(name);
  const Tensor a = small_tensor();
  const Tensor b = small_tensor();
  autograd::require_gradient(a);
  autograd::require_gradient(b);
  measure(state, [&] { benchmark::DoNotOptimize(op.call(a, b)); });
}
const auto* const taped_floor =
    benchmark::RegisterBenchmark("taped/floor", &tape_row, "unarmed_make");
const auto* const taped_ours = benchmark::RegisterBenchmark("taped/ours", &tape_row, "make");

// A chain of functions whose formulas call one operator each, above a call of that operator.
void backward_floor(benchmark::State& state) {
  const auto op = Operators::instance().get<Pair>("give_back");
  const Tensor gradient = small_tensor();
  const Tensor saved = small_tensor();
  const autograd::NoGradGuard off;
  measure(state, [&] { benchmark::DoNotOptimize(op.call(gradient, saved)); });
}
void backward_ours(benchmark::State& state) {
  const auto op = Operators::instance().get<Pair>("make");
  const Tensor x = small_tensor();
  const Tensor w = small_tensor();
  autograd::require_gradient(x);
  const Tensor gradient = small_tensor();
  std::fill_n(gradient.mutable_data<float>(), 4, 1.0F);
  for (auto _ : state) {
    Tensor y = op.call(x, w);
    for (int i = 1; i < kChain; ++i) y = op.call(y, w);
    const double begin = processor_time();
    autograd::backward({&y, 1}, {&gradient, 1});
    state.SetIterationTime((processor_time() - begin) / kChain);
  }
}
BENCHMARK(backward_floor)->Name("backward/floor");
BENCHMARK(backward_ours)->Name("backward/ours")->UseManualTime()->Iterations(500);

}  // namespace
}  // namespace opyard::bench

int main(int count, char** arguments) {
  opyard::load_library(OPYARD_BENCH_KERNELS);
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
}
