// test/cpp/plugins/throwing_constructor.cpp: one whose block throws from the constructor of an object
// that it makes, as a static object of a plugin would.
#include <opyard/library.h>

#include <stdexcept>

namespace {

struct Device {
  Device() { throw std::runtime_error("the constructor found no device"); }
};

Device& device() {
  static Device only;
  return only;
}

}  // namespace

OPYARD_LIBRARY(plugin_constructor, m) {
  m.def("f(int n) -> int");
  static_cast<void>(device());
}
