// opyard/detail/bind/signatures.h: inspect.signature() of what pybind11 makes.
//
// pybind11 begins the documentation of a function with one line of its own,
// "name(self: Graph, name: str = '') -> Value". inspect reads another form, with nothing but the
// parameters: "name(self, name='')\n--\n\n" in front. add_signatures() writes that in front of the
// documentation of each function and method of a module, from pybind11's line; what has several
// signatures gets (*args, **kwargs). Once, when the module is made, with the GIL held.
//
// A function whose parameters pybind11 was given no names for, which calls them arg0, arg1, …, is
// one that only the package calls; it gets none.
//
// Depends on: bind/pybind11.h.
#pragma once

#include "opyard/detail/bind/pybind11.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace opyard::python {

// "a: list[int, str] = [1, 2], *, b" in parts.
inline std::vector<std::string_view> split_parameters(std::string_view all) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i <= all.size(); ++i) {
    if (i == all.size() || (all[i] == ',' && depth == 0 && !in_text)) {
      while (begin < i && all[begin] == ' ') ++begin;
      if (begin < i) parts.push_back(all.substr(begin, i - begin));
      begin = i + 1;
    } else if (all[i] == '\'') {
      in_text = !in_text;
    } else if (!in_text && std::strchr("([{", all[i]) != nullptr) {
      ++depth;
    } else if (!in_text && std::strchr(")]}", all[i]) != nullptr) {
      --depth;
    }
  }
  return parts;
}

// The parameters without their types, from a line of pybind11; nothing if they have no names.
inline std::string parameters_of(std::string_view line) {
  const std::size_t open = line.find('('), close = line.rfind(") -> ");
  if (open == std::string_view::npos || close == std::string_view::npos) return "";
  std::string shown;
  for (const std::string_view part : split_parameters(line.substr(open + 1, close - open - 1))) {
    const std::string_view name = part.substr(0, part.find_first_of(":="));
    const std::size_t equals = part.rfind(" = ");
    if (name.starts_with("arg") && name.size() > 3 && name[3] <= '9') return "";
    if (!shown.empty()) shown += ", ";
    shown += name;
    if (equals != std::string_view::npos) shown += std::string("=").append(part.substr(equals + 3));
  }
  return "(" + shown + ")";
}

inline void add_signature(PyObject* object) {
  if (PyInstanceMethod_Check(object)) object = PyInstanceMethod_GET_FUNCTION(object);
  if (PyCFunction_Check(object) == 0) return;
  PyMethodDef& method = *reinterpret_cast<PyCFunctionObject*>(object)->m_ml;
  const std::string_view doc = method.ml_doc == nullptr ? "" : method.ml_doc;
  if (!doc.starts_with(method.ml_name) || doc.find(")\n--\n\n") != std::string_view::npos) return;
  const bool several = doc.find("\nOverloaded function.\n") != std::string_view::npos;
  const std::string parameters =
      several ? "(*args, **kwargs)" : parameters_of(doc.substr(0, doc.find('\n')));
  if (parameters.empty()) return;
  const std::string whole = method.ml_name + parameters + "\n--\n\n" + std::string(doc);
  char* const made = strdup(whole.c_str());  // pybind11 frees it, as it does its own
  if (made == nullptr) throw std::bad_alloc();
  std::free(const_cast<char*>(method.ml_doc));
  method.ml_doc = made;
}

inline void add_signatures(pybind11::module_& module) {
  namespace py = pybind11;
  for (const auto& [name, item] : py::dict(module.attr("__dict__"))) {
    add_signature(item.ptr());
    if (PyType_Check(item.ptr()) == 0) continue;
    // A copy: a class has a read-only view of its dictionary.
    for (const auto& [method, function] : py::dict(item.attr("__dict__"))) {
      const bool is_static = Py_TYPE(function.ptr()) == &PyStaticMethod_Type;
      add_signature(is_static ? py::object(function.attr("__func__")).ptr() : function.ptr());
    }
  }
}

}  // namespace opyard::python
