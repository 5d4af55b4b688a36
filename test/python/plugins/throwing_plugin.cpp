// test/python/plugins/throwing_plugin.cpp: a plugin whose second block cannot be registered.
#include "opyard/library.h"

namespace {

opyard::Tensor same(const opyard::Tensor& x) { return x; }

}  // namespace

OPYARD_LIBRARY(test_throwing, m) {
  m.def("first(Tensor x) -> Tensor");
  m.impl("first", opyard::DispatchKey::CPU, &same);
}

OPYARD_LIBRARY_FRAGMENT(test_throwing, m) { m.def("second(Tensor x -> Tensor"); }
