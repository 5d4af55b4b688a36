// test/bench/cpp/torch_calls.cpp: the rows of journeys 1 and 2 as PyTorch does them.
//
// Compiled by torch_rows.py against the PyTorch that is installed, when the benchmarks run. Each
// function gives nanoseconds a call; the loop holds eight copies, as in bench.h.
#include <torch/extension.h>
#include <torch/library.h>

#include <chrono>

namespace {

const at::Tensor& pass_reference(const at::Tensor& x) { return x; }
at::Tensor pass_counted(const at::Tensor& x) { return x; }
at::Tensor pass_first(const at::Tensor& x, const at::Tensor&) { return x; }
void take(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&) {}

using Reference = const at::Tensor&(const at::Tensor&);
using Counted = at::Tensor(const at::Tensor&);

template <typename Signature>
c10::TypedOperatorHandle<Signature> find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

const at::Tensor& hop_on(c10::DispatchKeySet keys, const at::Tensor& x) {
  static const auto op = find<Reference>("opyard_bench_torch::hop");
  return op.redispatch(keys & c10::after_autograd_keyset, x);
}

TORCH_LIBRARY(opyard_bench_torch, m) {
  m.def("reference(Tensor(a) x) -> Tensor(a)");
  m.def("counted(Tensor x) -> Tensor");
  m.def("hop(Tensor(a) x) -> Tensor(a)");
  m.def("pair(Tensor x, Tensor y) -> Tensor");
  m.def("python(Tensor x) -> Tensor");
  m.def("take(Tensor a, Tensor b, Tensor c, Tensor d) -> ()");
}
TORCH_LIBRARY_IMPL(opyard_bench_torch, CPU, m) {
  m.impl("reference", &pass_reference);
  m.impl("counted", &pass_counted);
  m.impl("hop", &pass_reference);
  m.impl("pair", &pass_first);
  m.impl("take", &take);
}
TORCH_LIBRARY_IMPL(opyard_bench_torch, AutogradCPU, m) { m.impl("hop", &hop_on); }

template <typename Body>
double nanoseconds(const Body& body) {
  constexpr int kLoops = 20000, kCopies = 8, kRounds = 25;
  double best = 1e18;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kLoops; ++i) {
      for (int copy = 0; copy < kCopies; ++copy) body();
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count() / (kLoops * kCopies));
  }
  return best;
}
template <typename T>
inline void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

double typed_reference() {
  const auto op = find<Reference>("opyard_bench_torch::reference");
  const at::Tensor x = at::zeros({4});
  return nanoseconds([&] { keep(op.call(x)); });
}
double typed_counted() {
  const auto op = find<Counted>("opyard_bench_torch::counted");
  const at::Tensor x = at::zeros({4});
  return nanoseconds([&] { keep(op.call(x)); });
}
double redispatch() {
  const auto op = find<Reference>("opyard_bench_torch::hop");
  const at::Tensor x = at::zeros({4});
  return nanoseconds([&] { keep(op.call(x)); });
}
double boxed() {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("opyard_bench_torch::pair", "");
  const at::Tensor x = at::zeros({4});
  const at::Tensor y = at::zeros({4});
  torch::jit::Stack stack;
  return nanoseconds([&] {
    stack.emplace_back(x);
    stack.emplace_back(y);
    op.callBoxed(stack);
    keep(stack);
    stack.clear();
  });
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("typed_reference", &typed_reference);
  module.def("typed_counted", &typed_counted);
  module.def("redispatch", &redispatch);
  module.def("boxed", &boxed);
}
