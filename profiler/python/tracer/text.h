// tracer/text.h: text of Python objects for names, whatever it contains.
//
// Depends on: python/python.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <string>
#include <vector>

namespace opyard::python {

// The text of a str as UTF-8; a half of a surrogate pair is escaped. Empty for what is no str.
// Leaves no exception.
std::string text_of(PyObject* object);
// Of each item of a tuple.
std::vector<std::string> texts_of(PyObject* tuple);
// What the system calls a file: of a str, bytes or path. Throws PythonErrorSet.
std::string path_of(PyObject* object);
// The text of an attribute, looked up as type.__getattribute__ does, so that no code of a user runs
// for a class of the usual metaclass. Empty if there is none.
std::string type_text(PyTypeObject* type, const char* attribute);
// "module.Qualified.Name" of a class, without the module for a built-in one.
std::string class_name(PyTypeObject* type);

}  // namespace opyard::python
