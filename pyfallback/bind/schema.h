// bind/schema.h: the Python classes of schemas, and parse().
//
// Depends on: pybind11, schema/schema.h.
#pragma once

#include "opyard/detail/python/python.h"

#include "opyard/detail/bind/pybind11.h"

namespace opyard::python {

// Adds Type, AliasInfo, Argument, Schema and parse to the module.
void add_schema(pybind11::module_& module);

}  // namespace opyard::python
