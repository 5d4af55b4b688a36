// test/cpp/plugins/slips.cpp: a plugin with a slip in the name of an operator.
#include <opyard/library.h>

OPYARD_LIBRARY(plugin_slips, m) {
  m.def("twice(int n) -> int");
  m.impl("twise", opyard::DispatchKey::CPU, [](std::int64_t n) { return 2 * n; });
}
// Who defines these may come later.
OPYARD_LIBRARY_IMPL(plugin_of_no_one, CPU, m) {
  m.impl("twice", [](std::int64_t n) { return 2 * n; });
}
