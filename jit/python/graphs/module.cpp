// graphs/module.cpp: the extension module opyard._graphs: graphs, their parts, codes and interpreter states.
#include "graphs/graphs.h"
#include "opyard/detail/bind/refused_calls.h"
#include "opyard/detail/bind/signatures.h"

namespace py = pybind11;

PYBIND11_MODULE(_graphs, module, py::multiple_interpreters::per_interpreter_gil()) {
  module.doc() = "Graphs: their nodes and values, their text, and states that run them.";
  opyard::python::use_table_of_errors();
  opyard::graphs::add_structure(module);
  opyard::graphs::add_text(module);
  opyard::graphs::add_codes(module);
  opyard::graphs::add_states(module);
  opyard::graphs::add_passes(module);
  opyard::graphs::add_python_operation(module);
  opyard::graphs::add_tracing(module);
  opyard::python::add_signatures(module);
  opyard::python::name_refusals(module);
}
