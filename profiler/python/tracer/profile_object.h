// tracer/profile_object.h: the Python class Profile.
//
// Threads: with the GIL held. Depends on: python/python.h, opyard/profiler/{fold,profile}.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <string>
#include <vector>

#include "opyard/profiler/capture.h"
#include "opyard/profiler/fold.h"
#include "opyard/profiler/profile.h"

namespace opyard::python {

// The type `Profile`, a new reference. Throws PythonErrorSet.
PyTypeObject* make_profile_type(PyObject* module);
// What was captured becomes a profile when it is first looked at. Throws PythonErrorSet.
PyObject* make_profile(PyTypeObject* type, profiler::Capture capture);
PyObject* make_profile(PyTypeObject* type, profiler::Profile profile);
// Of what processes have written to a folder. Throws PythonErrorSet, and what files.h raises.
PyObject* recovered_profile(PyTypeObject* type, const std::string& folder);

// The spans of a Profile, and the prefix that is left out of file names.
profiler::Profile& profile_of(PyObject* self);
const std::vector<std::string>& prefixes_of(PyObject* self);
const profiler::FoldRules& folding_of(PyObject* self);
const std::string& line_texts_of(PyObject* self);

// Methods of Profile; see profile_exports.cpp.
PyObject* export_report(PyObject* self, PyObject* args);
PyObject* export_chrome(PyObject* self, PyObject* args);
PyObject* export_perfetto(PyObject* self, PyObject* args);
PyObject* export_pprof(PyObject* self, PyObject* args);
PyObject* export_speedscope(PyObject* self, PyObject* args);
PyObject* export_stacks(PyObject* self, PyObject* args);

}  // namespace opyard::python
