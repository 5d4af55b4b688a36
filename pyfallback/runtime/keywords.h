// runtime/keywords.h: parsing of the arguments of C functions that take keywords.
//
// Depends on: Python.h.
#pragma once

#include "opyard/detail/python/python.h"

namespace opyard::python {

// PyArg_ParseTupleAndKeywords(), whose TypeError for an unknown keyword names the one that is like
// it, and all that there are. `format` ends with ":" and the name of the function. With the GIL
// held.
bool parse_keywords(PyObject* args, PyObject* kwargs, const char* format, const char* const* names,
                    ...);

}  // namespace opyard::python
