// bind/schema.h: the Python classes of schemas, and parse().
//
// Depends on: pybind11, schema/schema.h.
#pragma once

#include "runtime/python.h"

#include "bind/pybind11.h"

namespace opyard::python {

// Makes pickling an object of a class raise TypeError. What pybind11 leaves to copyreg, under protocols 0
// and 1, makes an object by a way that ends the process.
inline void refuse_pickling(pybind11::object type) {
  const std::string name = pybind11::str(type.attr("__name__"));
  type.attr("__reduce_ex__") = pybind11::cpp_function(
      [name](const pybind11::object&, int) -> pybind11::object {
        throw pybind11::type_error("cannot pickle '" + name + "' object");
      },
      pybind11::is_method(type));
}

// Adds Type, AliasInfo, Argument, Schema and parse to the module.
void add_schema(pybind11::module_& module);

}  // namespace opyard::python
