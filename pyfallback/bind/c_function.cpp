// bind/c_function.cpp: operators as C functions, for opyard/_library/c_function.py.
//
// [At exit] The objects of a program die one by one when the interpreter ends, while C code may
// still hold the addresses, on other threads or in functions that run at the end of the process. So
// closures that are alive then are never freed. One whose kernel is a Python function fails with
// InterpreterGone from then on.
#include "bind/c_function.h"

#include "opyard/detail/bind/classes.h"

#include "opyard/ffi/c_function.h"
#include "opyard/schema/parse.h"

namespace py = pybind11;

namespace opyard::python {
namespace {

const Operator& require_operator_named(const std::string& name) {
  return Registry::instance().require(parse_operator_name(name));
}

struct Closure {
  CFunction function;

  Closure(const std::string& name, const std::string& form)
      : function(require_operator_named(name), parse_c_form(form)) {}
  Closure(const Closure&) = delete;
  Closure& operator=(const Closure&) = delete;
  ~Closure() {
    if (is_finalizing()) function.keep();  // see [At exit]
  }
};

// The address as a capsule, which keeps the closure.
py::object capsule_of(const py::object& self) {
  const auto capsule = py::reinterpret_steal<py::object>(PyCapsule_New(
      self.cast<const Closure&>().function.address(), "opyard.CFunction",
      [](PyObject* object) { Py_XDECREF(static_cast<PyObject*>(PyCapsule_GetContext(object))); }));
  if (!capsule || PyCapsule_SetContext(capsule.ptr(), self.ptr()) != 0) {
    throw py::error_already_set();
  }
  self.inc_ref();
  return capsule;
}

}  // namespace

void add_c_function(py::module_& module) {
  py::class_<Closure>(module, "CFunction", "what opyard.library.CFunction holds")
      .def_property_readonly("address",
                             [](const Closure& self) {
                               return reinterpret_cast<std::uintptr_t>(self.function.address());
                             })
      .def("capsule", &capsule_of)
      .def_property_readonly("prototype",
                             [](const Closure& self) { return self.function.prototype(); })
      .def_property_readonly("letters",
                             [](const Closure& self) { return self.function.letters(); });
  refuse_pickling(module.attr("CFunction"));
  refuse_new(module.attr("CFunction"), "opyard.library.CFunction makes them");
  module.def(
      "make_c_function",
      [](const std::string& name, const std::string& form) {
        return std::make_unique<Closure>(name, form);
      },
      "an operator as a C function of this form");
  module.def(
      "c_prototype",
      [](const std::string& name, const std::string& form) {
        return c_prototype(require_operator_named(name), parse_c_form(form));
      },
      "what a C function must look like to serve an operator");
  module.def(
      "raise_c_error",
      [] {
        if (const std::optional<Error> error = take_error()) throw *error;
      },
      "raises this thread's error, and forgets it");
}

}  // namespace opyard::python
