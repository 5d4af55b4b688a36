// test/cpp/plugins/throws_number.cpp: a plugin whose block throws what is no exception at all.
#include "opyard/library.h"

OPYARD_LIBRARY(plugin_throws_number, m) {
  m.def("first(int n) -> int");
  throw 42;
}
