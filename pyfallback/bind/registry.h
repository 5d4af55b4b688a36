// bind/registry.h: registry queries and key names, as functions of _bind.
//
// Operators come as their full names and keys as their numbers, of which the package makes and
// takes objects.
//
// Depends on: pybind11.
#pragma once

#include "opyard/detail/python/python.h"

#include "opyard/detail/bind/pybind11.h"

namespace opyard::python {

void add_registry(pybind11::module_& module);
void add_keys(pybind11::module_& module);

}  // namespace opyard::python
