// gradients/module.cpp: the extension module opyard._gradients.
#include "gradients/gradients.h"
#include "opyard/detail/bind/refused_calls.h"
#include "opyard/detail/bind/signatures.h"

namespace opyard::gradients {
PyObject* to_tuple(const PythonTable& known, const autograd::Gradients& gradients) {
  PyObject* const tuple = require_object(known, PyTuple_New(Py_ssize_t(gradients.size())));
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    try {
      PyTuple_SET_ITEM(tuple, Py_ssize_t(i), to_object_or_none(known, gradients[i]));
    } catch (...) {
      Py_DECREF(tuple);
      throw;
    }
  }
  return tuple;
}

}  // namespace opyard::gradients

namespace py = pybind11;

PYBIND11_MODULE(_gradients, module, py::multiple_interpreters::per_interpreter_gil()) {
  module.doc() = "Gradients: the gradient state of tensors, functions, and runs of them backwards.";
  opyard::python::use_table_of_errors();
  opyard::gradients::add_functions(module);
  opyard::gradients::add_tensors(module);
  opyard::gradients::add_runs(module);
  opyard::gradients::add_saved(module);
  opyard::gradients::add_forward(module);
  opyard::gradients::add_pullbacks(module);
  opyard::gradients::add_staged(module);
  opyard::gradients::add_call_keys(module);
  opyard::gradients::add_derivative_calls(module);
  opyard::python::add_signatures(module);
  opyard::python::name_refusals(module);
}
