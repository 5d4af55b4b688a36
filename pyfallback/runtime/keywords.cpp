// runtime/keywords.cpp: parsing of the arguments of C functions that take keywords.
#include "runtime/keywords.h"

#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/detail/text/near_names.h"

namespace opyard::python {
namespace {

// In place of the TypeError that is set, if one of the names is unknown.
void name_the_unknown(PyObject* kwargs, const char* format, const char* const* names) {
  std::vector<std::string_view> known;
  std::string all;
  for (const char* const* each = names; *each != nullptr; ++each) {
    known.emplace_back(*each);
    all += (all.empty() ? "" : ", ") + std::string(*each);
  }
  PyObject* name = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(kwargs, &at, &name, nullptr) != 0;) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &size) : nullptr;
    if (text == nullptr) return;
    const std::string_view given(text, std::size_t(size));
    if (std::ranges::find(known, given) != known.end()) continue;
    const std::string_view meant = detail::near_name(given, known);
    const std::string hint = meant.empty() ? "" : "; '" + std::string(meant) + "' may be meant";
    PyErr_Format(PyExc_TypeError, "%s() has no argument '%U'%s. Its arguments are: %s",
                 std::strchr(format, ':') + 1, name, hint.c_str(), all.c_str());
    return;
  }
}

}  // namespace

bool parse_keywords(PyObject* args, PyObject* kwargs, const char* format, const char* const* names,
                    ...) {
  va_list places;
  va_start(places, names);
  const int is_parsed =
      PyArg_VaParseTupleAndKeywords(args, kwargs, format, const_cast<char**>(names), places);
  va_end(places);
  if (is_parsed != 0) return true;
  if (kwargs != nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
    name_the_unknown(kwargs, format, names);
  }
  return false;
}

}  // namespace opyard::python
