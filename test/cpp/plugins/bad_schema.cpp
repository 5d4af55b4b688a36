// test/cpp/plugins/bad_schema.cpp: a plugin with a schema that does not parse.
#include <opyard/library.h>

OPYARD_LIBRARY(plugin_bad_schema, m) {
  m.def("fine(int n) -> int");
  m.def("broken(int n -> int");
}
