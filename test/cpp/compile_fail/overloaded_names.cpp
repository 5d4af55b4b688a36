// test/cpp/compile_fail/overloaded_names.cpp: kernels whose names are overloaded.
//
// test_compile_fail.cpp lets a compiler read this file once for each case that must not compile;
// case 0 is what must.
#include "opyard/library.h"
#include "opyard/tensor/make.h"

using namespace opyard;

// Opyard has functions of the names contiguous and flatten.
static Tensor contiguous(const Tensor& x) { return x; }
static Tensor other(const Tensor& x) { return x; }

namespace {
Tensor flatten(const Tensor& x) { return x; }
Tensor flatten(double) { return Tensor(); }
}  // namespace

OPYARD_LIBRARY(overloaded, m) {
  // What is allowed.
  m.def("f(Tensor x) -> Tensor", {"pt2_compliant_tag"});
  m.def("g(Tensor x) -> Tensor", {"pt2_compliant_tag", "core"});
  m.def("h(Tensor x) -> Tensor", {}, AliasAnalysis::Conservative);
  m.def("i(Tensor x) -> Tensor", ::contiguous);
  m.def("j", [](const Tensor& x) { return x; });
  m.impl("f", DispatchKey::CPU, ::contiguous);
  m.impl("g", &other);
  m.impl("h", DispatchKey::CPU, static_cast<Tensor (*)(double)>(&flatten));
  m.override_kernel("f", DispatchKey::CPU, releases_gil(other));
  m.override_kernel("g", DispatchKey::CPU, cpu_only(&other));
#if OPYARD_CASE == 1
  m.impl("f", DispatchKey::CPU, contiguous);
#elif OPYARD_CASE == 2
  m.impl("f", &contiguous);
#elif OPYARD_CASE == 3
  m.def("k", contiguous);
#elif OPYARD_CASE == 4
  m.def("k(Tensor x) -> Tensor", &contiguous);
#elif OPYARD_CASE == 5
  m.override_kernel("f", DispatchKey::CPU, &contiguous);
#elif OPYARD_CASE == 6
  m.impl("f", DispatchKey::CPU, releases_gil(&contiguous));
#elif OPYARD_CASE == 7
  m.impl("f", DispatchKey::CPU, cpu_only(contiguous));
#elif OPYARD_CASE == 8
  m.impl("f", DispatchKey::CPU, flatten);
#endif
}
