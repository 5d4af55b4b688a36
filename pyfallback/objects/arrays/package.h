// objects/arrays/package.h: the Python package that a class belongs to.
//
// With the GIL held.
//
// Depends on: runtime/errors.h.
#pragma once

#include "runtime/runtime.h"

#include "runtime/owned.h"

namespace opyard::python {

// The attribute, or null if there is none. Throws PythonErrorSet for any other exception.
Owned find_attribute(PyObject* object, const char* name);

// The package of a class's module, or null if it was not imported. Throws PythonErrorSet.
Owned find_package(PyObject* cls);

}  // namespace opyard::python
