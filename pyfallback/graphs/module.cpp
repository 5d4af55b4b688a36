// graphs/module.cpp: the extension module opyard._graphs: graphs, their parts, and what runs them.
#include "bind/signatures.h"
#include "graphs/graphs.h"

namespace opyard::graphs {
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

}  // namespace opyard::graphs

namespace py = pybind11;

PYBIND11_MODULE(_graphs, module, py::multiple_interpreters::per_interpreter_gil()) {
  module.doc() = "Graphs: their nodes and values, their text, and states that run them.";
  py::register_local_exception_translator(&opyard::graphs::translate);
  opyard::graphs::table();  // refuses another version of Opyard here, once
  opyard::graphs::add_structure(module);
  opyard::graphs::add_text(module);
  opyard::graphs::add_files(module);
  opyard::graphs::add_codes(module);
  opyard::graphs::add_states(module);
  opyard::graphs::add_passes(module);
  opyard::graphs::add_python_operation(module);
  opyard::graphs::add_tracing(module);
  opyard::python::add_signatures(module);
}
