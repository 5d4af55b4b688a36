// vtable/run_call.h: a call from Python of what another extension module runs, such as a graph.
//
// Depends on: opyard/python.h.
#pragma once

#include <Python.h>

#include "opyard/python.h"

namespace opyard::python {

// PythonTable::call_run.
PyObject* call_run(const PythonTable* self, const PythonRun* run, PyObject* const* args,
                   std::size_t count);

}  // namespace opyard::python
