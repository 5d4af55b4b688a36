// bind/schema.h: the Python classes of schemas, and parse().
//
// Depends on: pybind11, schema/schema.h.
#pragma once

#include "runtime/python.h"

#include "bind/pybind11.h"

namespace opyard::python {

// Makes pickling an object of a class raise TypeError. What pybind11 leaves to copyreg, under
// protocols 0 and 1, makes an object by a way that ends the process.
void refuse_pickling(pybind11::object type);
// Makes cls.__new__(cls) raise TypeError, naming who makes such objects: pybind11's gives an object
// without a value.
void refuse_new(pybind11::object type, const char* maker);

// Adds Type, AliasInfo, Argument, Schema and parse to the module.
void add_schema(pybind11::module_& module);

}  // namespace opyard::python
