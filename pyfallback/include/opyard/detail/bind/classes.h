// opyard/detail/bind/classes.h: completes pybind11's classes: pickling, construction.
//
// pybind11's cls.__new__(cls) gives an object without a value, which each method then reads as if
// it had one; and what it leaves to copyreg, under protocols 0 and 1 of pickle, makes such an
// object too, by a way that ends the process. And if memory for an object is wanting, it writes
// to the address 0. So each class of ours calls functions of this file.
// _bind, _graphs and _gradients each compile them in.
//
// Depends on: pybind11.
#pragma once

#include "opyard/detail/python/python.h"

#include "opyard/detail/bind/pybind11.h"

namespace opyard::python {

// Makes pickling an object of a class raise TypeError.
void refuse_pickling(pybind11::object type);
// Makes cls.__new__(cls) raise TypeError, naming who makes such objects.
void refuse_new(pybind11::object type, const char* maker);
// Makes cls.__new__(cls, ...) call __init__, too, for a class with a py::init. pybind11 does
// nothing when __init__ is called again.
void make_in_new(pybind11::object type);

}  // namespace opyard::python
