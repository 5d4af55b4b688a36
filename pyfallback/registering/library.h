// registering/library.h: _C.Library: the C++ Library in Python.
//
// opyard.library.Library wraps it; this type only forwards, and ends the registrations when it
// dies.
//
// Depends on: runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

namespace opyard::python {

// Ends the registrations of all libraries of the interpreter, for the report of what is left; see
// objects/tensor/leak_check.h.
void take_back_libraries(const Runtime& runtime);
void add_library_type(Runtime& runtime, PyObject* module);

}  // namespace opyard::python
