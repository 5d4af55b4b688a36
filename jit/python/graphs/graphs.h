// graphs/graphs.h: declarations that the sources of opyard._graphs share.
//
// The module shows graphs, their nodes and values, and runs them. It is not opyard._C, because it
// needs libopyard_jit, which `import opyard` does not load. Of the Python plugin it uses the table
// in opyard/python.h and compiles nothing else in.
//
// Threads: everything here is called with the GIL held, and keeps it while a graph runs; kernels
// that were registered so release it around themselves.
//
// Depends on: detail/graphs/shared.h.
#pragma once

#include "opyard/detail/graphs/shared.h"

#include <span>
#include <string>

namespace opyard::graphs {

SharedCode share_code(jit::CodePtr code);

// [Cycles] A Python function in a graph may refer to the graph. If the only owners of the graph are
// one object of Python, and a code that this object or the other of the two owns alone, then that
// object shows the functions to the garbage collector; an object for a node, or a state, is another
// owner, and as long as there is one nothing is collected.
bool holds_functions(const jit::Graph& graph);
int visit_functions(const jit::Graph& graph, visitproc visit, void* argument);
void clear_functions(const jit::Graph& graph);

// Lists of Python objects of one graph.
template <typename Items>
py::list share_all(const jit::GraphPtr& graph, const Items& items) {
  py::list shared;
  for (auto* item : items) shared.append(py::cast(share(graph, item)));
  return shared;
}

// The C++ object of an argument. Raises TypeError: `what` says which function takes what.
template <typename T>
T& require_argument(const py::object& object, const char* what) {
  if (py::isinstance<T>(object)) return object.cast<T&>();
  throw py::type_error(std::string(what) + ", not " + Py_TYPE(object.ptr())->tp_name);
}

// A prim::PythonOp in no block yet; the calling string is for as many inputs and scalars.
jit::Node* make_python_op(jit::Graph& graph, const py::object& function, const std::string& name,
                          std::span<jit::Value* const> inputs, const std::string& calling,
                          const py::list& scalars, std::size_t outputs);

// Each adds its classes and functions to the module.
void add_structure(py::module_& module);
void add_attributes(py::class_<SharedNode>& node);
void add_text(py::module_& module);
void add_codes(py::module_& module);
void add_states(py::module_& module);
void add_pictures(py::class_<SharedGraph>& graph);
void add_passes(py::module_& module);
void add_python_operation(py::module_& module);
void add_tracing(py::module_& module);
// For py::class_<SharedGraph>: the slots of the type that pybind11 has no words for.
void set_graph_slots(PyHeapTypeObject* type);

}  // namespace opyard::graphs
