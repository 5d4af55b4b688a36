// test/cpp/plugins/changing.cpp: one plugin in two builds, which give different answers.
#include <opyard/library.h>

OPYARD_LIBRARY(plugin_changing, m) {
  m.def("answer() -> int", [] { return std::int64_t{OPYARD_TEST_ANSWER}; });
}
