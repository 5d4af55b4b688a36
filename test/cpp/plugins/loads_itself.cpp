// test/cpp/plugins/loads_itself.cpp: a plugin whose block loads and unloads the plugin it is in.
#include <dlfcn.h>
#include <opyard/library.h>
#include <opyard/plugin/plugin.h>

OPYARD_LIBRARY(plugin_self, m) {
  m.def("f(int n) -> int");
  Dl_info info{};
  static const char here = 0;
  if (dladdr(&here, &info) == 0) opyard::fail(opyard::ErrorKind::Internal, "no name");
  opyard::load_library(info.dli_fname);  // does nothing
  opyard::unload_library(info.dli_fname);
}
