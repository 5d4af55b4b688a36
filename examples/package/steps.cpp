// steps.cpp: steps::count(Tensor x) -> int: how often the sign changes from one element to the next.
//
// Depends on: opyard/kernel.h.
#include "opyard/kernel.h"

namespace {

std::int64_t count(const opyard::Tensor& x) {
  OPYARD_REQUIRE(x.dim() == 1, BadShape, "steps::count: x is ", x, "; one dimension is needed");
  return opyard::dispatch_dtypes<float, double>(x.dtype(), "steps::count", [&]<typename T>() {
    const auto at = opyard::accessor<const T, 1>(x);
    std::int64_t changes = 0;
    for (std::int64_t i = 1; i < at.size(0); ++i) changes += (at(i) < 0) != (at(i - 1) < 0) ? 1 : 0;
    return changes;
  });
}

OPYARD_LIBRARY(steps, m) {
  m.def("count(Tensor x) -> int");
  m.impl("count", opyard::DispatchKey::CPU, &count);
}

}  // namespace
