// bind/c_function.h: operators as C functions, for opyard/_library/c_function.py.
//
// Depends on: pybind11.
#pragma once

#include "opyard/detail/python/python.h"

#include "opyard/detail/bind/pybind11.h"

namespace opyard::python {

void add_c_function(pybind11::module_& module);

}  // namespace opyard::python
