// test/cpp/plugins/throws.cpp: a plugin whose second block throws, after it registered something.
#include <opyard/library.h>

#include <stdexcept>

OPYARD_LIBRARY(plugin_throws, m) { m.def("first(int n) -> int"); }

OPYARD_LIBRARY_FRAGMENT(plugin_throws, m) {
  m.def("second(int n) -> int", [](std::int64_t n) { return n; });
  throw std::runtime_error("the second block has no luck");
}

OPYARD_LIBRARY_FRAGMENT(plugin_throws, m) { m.def("third(int n) -> int"); }
