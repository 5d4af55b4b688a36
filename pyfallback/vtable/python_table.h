// vtable/python_table.h: the table that other extension modules use, for one interpreter.
//
// include/opyard/python.h is the table and says what each function does.
//
// Depends on: runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

namespace opyard::python {

// Adds the capsule `python_table` to the module. An interpreter has one table, also if the module
// is imported again. With the GIL held; throws PythonErrorSet.
void add_python_table(Runtime& runtime, PyObject* module);

}  // namespace opyard::python
