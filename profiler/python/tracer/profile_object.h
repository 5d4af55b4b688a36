// tracer/profile_object.h: the Python class Profile.
//
// Threads: with the GIL held. Depends on: python/python.h, opyard/profiler/profile.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <string>

#include "opyard/profiler/capture.h"

namespace opyard::python {

// The type `Profile`, a new reference. Throws PythonErrorSet.
PyTypeObject* make_profile_type(PyObject* module);
// What was captured becomes a profile when it is first looked at. Throws PythonErrorSet.
PyObject* make_profile(PyTypeObject* type, profiler::Capture capture);
// Of what processes have written to a folder. Throws PythonErrorSet, and what files.h raises.
PyObject* recovered_profile(PyTypeObject* type, const std::string& folder);

}  // namespace opyard::python
