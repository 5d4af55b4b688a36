// gradients/module.cpp: the extension module opyard._gradients.
#include "bind/signatures.h"
#include "gradients/gradients.h"

namespace opyard::gradients {
namespace {

void translate(std::exception_ptr exception) {
  try {
    std::rethrow_exception(std::move(exception));
  } catch (const Error& error) {
    const PythonTable& known = table();
    known.raise(&known, &error);
  }
}

}  // namespace

// Interpreters are told apart by their numbers, which are never given out again, as addresses are.
const PythonTable& table() {
  thread_local std::int64_t interpreter = -1;
  thread_local const PythonTable* known = nullptr;
  const std::int64_t current = PyInterpreterState_GetID(PyInterpreterState_Get());
  if (current != interpreter) {
    const PythonTable* const found = import_python_table();
    if (found == nullptr) throw py::error_already_set();
    known = found;
    interpreter = current;
  }
  return *known;
}

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
  module.doc() = "Gradients: what is kept beside tensors, functions, and runs of them backwards.";
  py::register_local_exception_translator(&opyard::gradients::translate);
  opyard::gradients::table();  // refuses another version of Opyard here, once
  opyard::gradients::add_functions(module);
  opyard::gradients::add_tensors(module);
  opyard::gradients::add_runs(module);
  opyard::gradients::add_handles(module);
  opyard::gradients::add_staged(module);
  opyard::gradients::add_call_keys(module);
  opyard::python::add_signatures(module);
}
