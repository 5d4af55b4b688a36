// tracer/trace_object.h: a trace as Python holds it.
//
// Threads: with the GIL held. Depends on: python/python.h, opyard/profiler/trace.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <string>

#include "opyard/profiler/recorder.h"

namespace opyard::python {

// The type `Trace`, a new reference. Throws PythonErrorSet.
PyTypeObject* make_trace_type(PyObject* module);
// What was recorded becomes a trace when it is first looked at. Throws PythonErrorSet.
PyObject* make_trace(PyTypeObject* type, profiler::Recording recording);
// Of what processes have written to a folder. Throws PythonErrorSet, and what files.h raises.
PyObject* recovered_trace(PyTypeObject* type, const std::string& folder);

}  // namespace opyard::python
