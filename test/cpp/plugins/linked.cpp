// test/cpp/plugins/linked.cpp: an operator library that programs and plugins link to.
//
// The first block must run at once; the second fails, and its reason must be kept.
#include <opyard/library.h>

extern "C" __attribute__((visibility("default"))) int opyard_test_linked() { return 1; }

OPYARD_LIBRARY(OPYARD_TEST_SPACE, m) {
  m.def("five_times(int n) -> int", [](std::int64_t n) { return 5 * n; });
}

OPYARD_LIBRARY_FRAGMENT(OPYARD_TEST_SPACE, m) {
  m.def("half_done(int n) -> int");
  m.def("five_times(int n) -> int");
}
