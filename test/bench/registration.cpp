// test/bench/registration.cpp: what registering costs. It has no budget; the figures are for information.
#include <string>

#include "bench.h"

namespace opyard::bench {
namespace {

Tensor pass(const Tensor& x) { return x; }

// A definition with a kernel, and both taken back.
void define(benchmark::State& state) {
  for (auto _ : state) {
    Library library(LibraryKind::Def, "bench_registration");
    library.def("one(Tensor x, *, float alpha=1.0) -> Tensor");
  }
}
BENCHMARK(define)->Name("define/ours")->Unit(benchmark::kNanosecond);

// Another library's kernel on top of one that stands, and taken back.
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

}  // namespace
}  // namespace opyard::bench

BENCHMARK_MAIN();
