// test/cpp/plugins/second_file.cpp: another file of a plugin; its blocks join the same list.
#include <opyard/library.h>

OPYARD_LIBRARY_FRAGMENT(plugin_a, m) {
  m.def("four_times(int n) -> int", [](std::int64_t n) { return 4 * n; });
}
