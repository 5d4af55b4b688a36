// test/cpp/plugins/old_version.cpp: a plugin that says it was built with another Opyard.
#include <opyard/version.h>

#undef OPYARD_VERSION_MINOR
#define OPYARD_VERSION_MINOR 99

#include <opyard/library.h>

OPYARD_LIBRARY(plugin_old, m) { m.def("f(int n) -> int"); }
