// test/python/plugins/answered_plugin.cpp: a kernel for an operator of aten that NumPy answers.
//
// It is registered before anyone has asked for the operator, which defines it.
#include "opyard/library.h"

namespace {

opyard::Tensor first(const opyard::Tensor& self, const opyard::Tensor& /*other*/) { return self; }

}  // namespace

OPYARD_LIBRARY_IMPL(aten, CPU, m) { m.impl("fmax", &first); }
OPYARD_LIBRARY_IMPL(aten, CompositeExplicitAutograd, m) { m.impl("fmin", &first); }
