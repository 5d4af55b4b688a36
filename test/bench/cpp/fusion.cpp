// test/bench/cpp/fusion.cpp: nine operations of arithmetic: fused, over one loop that is written by hand.
//
// The loop is compiled for three processors, as the operators' are, and the best one runs.
#include "bench.h"
#include "folder.h"
#include "opyard/jit/code.h"
#include "opyard/jit/fuse.h"
#include "opyard/jit/parse.h"
#include "opyard/plugin/plugin.h"

namespace opyard::bench {
namespace {

constexpr const char* kNine =
    "graph(%x : Tensor, %y : Tensor):\n"
    "  %half : float = prim::Constant[value=0.5]()\n"
    "  %two : float = prim::Constant[value=2.0]()\n"
    "  %a : Tensor = aten::mul(%x, %y)\n"
    "  %b : Tensor = aten::add(%a, %x)\n"
    "  %c : Tensor = aten::mul(%b, %half)\n"
    "  %d : Tensor = aten::sub(%c, %y)\n"
    "  %e : Tensor = aten::mul(%d, %a)\n"
    "  %f : Tensor = aten::add(%e, %two)\n"
    "  %g : Tensor = aten::mul(%f, %x)\n"
    "  %h : Tensor = aten::sub(%g, %b)\n"
    "  %i : Tensor = aten::mul(%h, %y)\n"
    "  return (%i)\n";

[[gnu::always_inline]] inline void nine(float* to, const float* x, const float* y,
                                        std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const float a = x[i] * y[i], b = a + x[i];
    to[i] = (((b * 0.5F - y[i]) * a + 2.0F) * x[i] - b) * y[i];
  }
}

using Nine = void (*)(float*, const float*, const float*, std::int64_t);
[[gnu::target("arch=x86-64-v4,prefer-vector-width=512"), gnu::optimize("O3")]] void nine_v4(
    float* to, const float* x, const float* y, std::int64_t count) {
  nine(to, x, y, count);
}
[[gnu::target("arch=x86-64-v3"), gnu::optimize("O3")]] void nine_v3(float* to, const float* x,
                                                                    const float* y,
                                                                    std::int64_t count) {
  nine(to, x, y, count);
}
[[gnu::optimize("O3")]] void nine_baseline(float* to, const float* x, const float* y,
                                           std::int64_t count) {
  nine(to, x, y, count);
}
Nine best_nine() {
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) return &nine_v4;
  return __builtin_cpu_supports("avx2") ? &nine_v3 : &nine_baseline;
}

struct Inputs {
  explicit Inputs(std::int64_t count) {
    static const bool loaded = (load_library(kKernelsLibrary), true);
    static_cast<void>(loaded);
    const std::int64_t sizes[] = {count};
    for (Tensor* const one : {&x, &y}) {
      *one = Tensor::empty(sizes);
      for (std::int64_t i = 0; i < count; ++i) one->mutable_data<float>()[i] = float(i % 13) / 8;
    }
  }
  Tensor x, y;
};

// A fresh result each time, as an operator gives.
void fusion_floor(benchmark::State& state, std::int64_t count) {
  const Inputs in(count);
  const Nine run = best_nine();
  const std::int64_t sizes[] = {count};
  for (auto _ : state) {
    Tensor result = Tensor::empty(sizes);
    run(result.mutable_data<float>(), in.x.data<float>(), in.y.data<float>(), count);
    benchmark::DoNotOptimize(result);
  }
}
void fusion_ours(benchmark::State& state, std::int64_t count, bool fused) {
  const Inputs in(count);
  const jit::GraphPtr graph = jit::parse_graph(kNine);
  if (fused) jit::passes::fuse(*graph);
  const jit::CodePtr code = jit::compile(graph);
  const Value inputs[] = {in.x, in.y};
  Value outputs[1];
  for (auto _ : state) code->run(inputs, outputs);
}

#define SIZE(name, count)                                                                  \
  BENCHMARK_CAPTURE(fusion_floor, name, count)->Name("fusion_" #name "/floor");            \
  BENCHMARK_CAPTURE(fusion_ours, name, count, true)->Name("fusion_" #name "/ours");        \
  BENCHMARK_CAPTURE(fusion_floor, name##_unfused, count)->Name("unfused_" #name "/floor"); \
  BENCHMARK_CAPTURE(fusion_ours, name##_unfused, count, false)->Name("unfused_" #name "/ours")
SIZE(1k, 1 << 10);
SIZE(64k, 1 << 16);
SIZE(1m, 1 << 20);
SIZE(4m, 1 << 22);
#undef SIZE

}  // namespace
}  // namespace opyard::bench
