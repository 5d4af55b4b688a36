// tracer/text.cpp: text of Python objects for names.
#include "tracer/text.h"

#include <cstring>

#include "opyard/detail/python/clear.h"
#include "tracer/border.h"

namespace opyard::python {

std::string text_of(PyObject* object) {
  if (object == nullptr || !PyUnicode_Check(object)) return {};
  Py_ssize_t size = 0;
  if (const char* const text = PyUnicode_AsUTF8AndSize(object, &size)) {
    return {text, std::size_t(size)};
  }
  clear_or_report(PyExc_Exception);
  PyObject* const bytes = PyUnicode_AsEncodedString(object, "utf-8", "backslashreplace");
  if (bytes == nullptr) {
    clear_or_report(PyExc_Exception);
    return {};
  }
  std::string text(PyBytes_AS_STRING(bytes), std::size_t(PyBytes_GET_SIZE(bytes)));
  Py_DECREF(bytes);
  return text;
}

std::string path_of(PyObject* object) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(object, &bytes) == 0) throw PythonErrorSet();
  std::string path(PyBytes_AS_STRING(bytes), std::size_t(PyBytes_GET_SIZE(bytes)));
  Py_DECREF(bytes);
  return path;
}

std::vector<std::string> texts_of(PyObject* tuple) {
  std::vector<std::string> texts;
  for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(tuple); ++n) {
    texts.push_back(text_of(PyTuple_GET_ITEM(tuple, n)));
  }
  return texts;
}

std::string type_text(PyTypeObject* type, const char* attribute) {
  PyObject* const name = PyUnicode_InternFromString(attribute);
  PyObject* const value =
      name == nullptr ? nullptr : PyType_Type.tp_getattro(reinterpret_cast<PyObject*>(type), name);
  Py_XDECREF(name);
  if (value == nullptr) clear_or_report(PyExc_Exception);
  std::string text = text_of(value);
  Py_XDECREF(value);
  return text;
}

std::string class_name(PyTypeObject* type) {
  const std::string module = type_text(type, "__module__");
  std::string name = type_text(type, "__qualname__");
  if (name.empty()) name = type->tp_name;
  return module.empty() || module == "builtins" ? name : module + "." + name;
}

}  // namespace opyard::python
