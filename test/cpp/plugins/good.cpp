// test/cpp/plugins/good.cpp: a plugin with a definition, kernels, and a fallback; built twice.
//
// OPYARD_TEST_SPACE is the namespace, so that two plugins from this source are side by side.
#include <opyard/library.h>

namespace {

std::int64_t twice(std::int64_t n) { return 2 * n; }

}  // namespace

OPYARD_LIBRARY(OPYARD_TEST_SPACE, m) { m.def("twice(int n) -> int"); }

OPYARD_LIBRARY_IMPL(OPYARD_TEST_SPACE, CompositeExplicitAutograd, m) { m.impl("twice", &twice); }

OPYARD_LIBRARY_FRAGMENT(OPYARD_TEST_SPACE, m) {
  m.def("thrice(int n) -> int", [](std::int64_t n) { return 3 * n; });
}
