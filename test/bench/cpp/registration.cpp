// test/bench/cpp/registration.cpp: cost of registration, in time and memory.
#include <malloc.h>

#include <string>

#include "bench.h"

namespace opyard::bench {
namespace {

Tensor pass(const Tensor& x) { return x; }

// A definition with a kernel, and both unregistered.
void define(benchmark::State& state) {
  for (auto _ : state) {
    Library library(LibraryKind::Def, "bench_registration");
    library.def("one(Tensor x, *, float alpha=1.0) -> Tensor");
  }
}
BENCHMARK(define)->Name("define/ours")->Unit(benchmark::kNanosecond);

// Another library's kernel on top of one that is registered, and unregistered.
void override_kernel(benchmark::State& state) {
  Library base(LibraryKind::Def, "bench_registration");
  base.def("one(Tensor x) -> Tensor");
  base.impl("one", DispatchKey::CPU, &pass);
  for (auto _ : state) {
    Library library(LibraryKind::Impl, "bench_registration", DispatchKey::CPU);
    library.override_kernel("one", DispatchKey::CPU, &pass);
  }
}
BENCHMARK(override_kernel)->Name("override/ours")->Unit(benchmark::kNanosecond);

Tensor scaled(const Tensor& x, const Tensor&, double) { return x; }

constexpr int kMany = 5000;

void register_many(Library& library) {
  for (int i = 0; i < kMany; ++i) {
    const std::string name = "operator_" + std::to_string(i);
    library.def(name + "(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor");
    for (const DispatchKey key : {DispatchKey::CPU, DispatchKey::CUDA, DispatchKey::AutogradCPU}) {
      library.impl(name, key, &scaled);
    }
  }
}

// A program that registers much does so once, at its start: the first time is what counts. Each
// repetition takes other names, since an operator is never freed.
void register_5000(benchmark::State& state) {
  static int repetition = 0;
  for (auto _ : state) {
    const std::string name_space = "bench_many_" + std::to_string(repetition++);
    auto* const library = new Library(LibraryKind::Def, name_space, std::nullopt, "many.cpp", 12);
    register_many(*library);
    state.PauseTiming();
    delete library;
    state.ResumeTiming();
  }
}
BENCHMARK(register_5000)->Name("register_5000/ours")->Iterations(1)->Unit(benchmark::kNanosecond);

// Bytes, where the others give nanoseconds: what the C library's allocator handed out for it.
void operator_memory(benchmark::State& state) {
  static int repetition = 0;
  for (auto _ : state) {
    const std::string name_space = "bench_memory_" + std::to_string(repetition++);
    const std::size_t before = mallinfo2().uordblks;
    Library library(LibraryKind::Def, name_space, std::nullopt, "many.cpp", 12);
    register_many(library);
    state.SetIterationTime(double(mallinfo2().uordblks - before) / kMany * 1e-9);
  }
}
BENCHMARK(operator_memory)->Name("operator_memory/ours")->Iterations(1)->UseManualTime();

}  // namespace
}  // namespace opyard::bench

BENCHMARK_MAIN();
