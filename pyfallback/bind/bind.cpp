// bind/bind.cpp: the extension module opyard._bind: what need not be fast.
//
// Schemas, the inspection of the registry, and plugins. Only functions of the package call it.
// It keeps no Python object of its own, so it may be imported late and lives as long as Python
// lets it.
#include "runtime/python.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bind/schema.h"
#include "opyard/plugin/plugin.h"
#include "opyard/registry/registry.h"
#include "opyard/schema/parse.h"
#include "runtime/error_type.h"
#include "runtime/gil.h"

namespace py = pybind11;

namespace opyard::python {
namespace {

void translate(std::exception_ptr exception) {
  try {
    std::rethrow_exception(std::move(exception));
  } catch (const Error& error) {
    set_python_error(error);
  }
}

// Paths come as os.fsencode() makes them, and go back as os.fsdecode() does.
py::str decode_path(const std::string& path) {
  PyObject* const text = PyUnicode_DecodeFSDefaultAndSize(path.data(), Py_ssize_t(path.size()));
  if (text == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(text);
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const OperatorName& name : Registry::instance().names()) names.push_back(to_string(name));
  return names;
}

void add_registry(py::module_& module) {
  module.def("operator_names", &operator_names, "the names of all operators, in order");
  module.def(
      "dump",
      [](const std::string& name) { return Registry::instance().dump(parse_operator_name(name)); },
      "the registered kernels of an operator, a line each; '' where there are none");
  module.def(
      "dump_table",
      [](const std::string& name) {
        return Registry::instance().dump_table(parse_operator_name(name));
      },
      "the kernel of each key of an operator, a line each");
  module.def(
      "check_invariants", [] { Registry::instance().check_invariants(); },
      "raises RuntimeError where a stored table is not the computed one");
  module.def(
      "retired_count", [] { return Registry::instance().retired_count(); },
      "kernels that were taken back and are not freed yet");
  module.def(
      "reclaim", [] { Registry::instance().reclaim(); }, "frees those that no call can be using");
}

// Opening a library may take long, and runs code of its own: without the GIL.
void add_plugins(py::module_& module) {
  module.def(
      "load_library",
      [](const std::string& path) {
        const ReleaseGil release;
        load_library(path);
      },
      "opens a plugin and registers its operators");
  module.def(
      "unload_library",
      [](const std::string& path) {
        const ReleaseGil release;
        return unload_library(path);
      },
      "takes a plugin's registrations back; gives the number of kernels still in use");
  module.def(
      "loaded_libraries",
      [] {
        py::list paths;
        for (const std::string& path : loaded_libraries()) paths.append(decode_path(path));
        return paths;
      },
      "the paths of the loaded plugins");
  module.def(
      "linked_library_errors", [] { return linked_library_errors(); },
      "why operators of libraries that were linked in are missing");
}

}  // namespace
}  // namespace opyard::python

PYBIND11_MODULE(_bind, module) {
  module.doc() = "Schemas, the inspection of the registry, and plugins.";
  py::register_local_exception_translator(&opyard::python::translate);
  opyard::python::add_schema(module);
  opyard::python::add_registry(module);
  opyard::python::add_plugins(module);
}
