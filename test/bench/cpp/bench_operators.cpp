// test/bench/cpp/bench_operators.cpp: the operators that the Python rows call, as a plugin.
//
//   opyard_bench::stored(Tensor x) -> Tensor          gives a tensor that nothing in Python holds,
//                                                     so each result needs a wrapper
//   opyard_bench::python(Tensor x) -> Tensor          its kernel comes from Python
//   opyard_bench::take(Tensor a, Tensor b, Tensor c, Tensor d) -> ()  does nothing
//   opyard_bench::repeat(Tensor x, int times) -> int  calls `python` so often from C++
//
// Depends on: opyard/library.h.
#include "opyard/library.h"

namespace {

using opyard::Tensor;

Tensor give_stored(const Tensor&) {
  static const Tensor& stored = *[] {
    const std::int64_t sizes[] = {4};
    return new Tensor(Tensor::empty(sizes));  // for ever
  }();
  return stored;
}

std::int64_t repeat(const Tensor& x, std::int64_t times) {
  static const auto op =
      opyard::require_operator("opyard_bench::python").typed<Tensor(const Tensor&)>();
  for (std::int64_t i = 0; i < times; ++i) op.call(x);
  return times;
}

using T = const Tensor&;
void take(T, T, T, T) {}

OPYARD_LIBRARY(opyard_bench, m) {
  m.def("stored(Tensor x) -> Tensor");
  m.impl("stored", opyard::DispatchKey::CPU, &give_stored);
  m.def("take(Tensor a, Tensor b, Tensor c, Tensor d) -> ()");
  m.impl("take", opyard::DispatchKey::CPU, &take);
  m.def("python(Tensor x) -> Tensor");
  m.def("repeat(Tensor x, int times) -> int");
  m.impl("repeat", opyard::DispatchKey::CPU, &repeat);
}

}  // namespace
