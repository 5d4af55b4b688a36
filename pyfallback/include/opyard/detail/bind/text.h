// opyard/detail/bind/text.h: texts of C++ that name files, as Python's, and the other way.
//
// A file's name need not be UTF-8, and pybind11's own conversion would raise. As in the messages of
// errors, what is none is shown by its escapes.
//
// Depends on: pybind11.
#pragma once

#include "opyard/detail/python/python.h"

#include <string>
#include <vector>

#include "opyard/detail/bind/pybind11.h"

namespace opyard::python {

inline pybind11::str show_text(const std::string& text) {
  PyObject* const shown =
      PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "backslashreplace");
  if (shown == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::str>(shown);
}

inline pybind11::list show_texts(const std::vector<std::string>& texts) {
  pybind11::list shown;
  for (const std::string& text : texts) shown.append(show_text(text));
  return shown;
}

// The name of a file that Python has, in UTF-8, shown in the same way.
inline std::string shown_file(const pybind11::object& name) {
  PyObject* const bytes = PyUnicode_EncodeFSDefault(name.ptr());
  if (bytes == nullptr) throw pybind11::error_already_set();
  const auto encoded = pybind11::reinterpret_steal<pybind11::bytes>(bytes);
  return std::string(show_text(std::string(encoded)));
}

}  // namespace opyard::python
