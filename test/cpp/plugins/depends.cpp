// test/cpp/plugins/depends.cpp: a plugin that is linked to another operator library.
#include <opyard/library.h>

extern "C" int opyard_test_linked();

OPYARD_LIBRARY(plugin_depends, m) {
  m.def("f(int n) -> int", [](std::int64_t n) { return n + opyard_test_linked(); });
}
