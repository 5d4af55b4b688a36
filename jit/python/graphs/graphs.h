// graphs/graphs.h: what the files of the extension module opyard._graphs share.
//
// The module shows graphs, their nodes and values, and runs them. It is not opyard._C, because it
// needs libopyard_jit, which `import opyard` does not load. Of the Python plugin it uses the table
// in opyard/python.h and compiles nothing else in.
//
// [Life] A node, value or block lives in its graph's memory, so each Python object of one keeps a
// share of the graph. Two objects of one node are equal and have the same hash.
//
// Threads: everything here is called with the GIL held, and keeps it while a graph runs; kernels
// that were registered so release it around themselves.
//
// Depends on: opyard/python.h, jit/graph.h.
#pragma once

#include "opyard/detail/bind/extension.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "opyard/jit/code.h"
#include "opyard/jit/graph.h"
#include "opyard/python.h"

namespace opyard::graphs {

namespace py = pybind11;

using python::table;
using python::take_result;

// A graph, and something in its memory. See [Life].
template <typename T>
struct Shared {
  jit::GraphPtr graph;
  T* item;

  bool operator==(const Shared& other) const noexcept { return item == other.item; }
};
using SharedNode = Shared<jit::Node>;
using SharedValue = Shared<jit::Value>;
using SharedBlock = Shared<jit::Block>;

// What a call of a code has to know of one stage, found when the code is made.
struct StageTypes {
  std::vector<TypePtr> inputs;
  std::vector<std::string> labels;
  std::vector<const char*> names;  // the labels
  std::vector<TypePtr> outputs;
};

using Run = void (*)(void* context, std::span<const opyard::Value> inputs,
                     std::span<opyard::Value> outputs);

// Enters a run with the arguments of a call, and gives its results as objects.
inline PyObject* call_run(const PythonTable& known, const StageTypes& types, Run run, void* context,
                          PyObject* const* args, std::size_t count) {
  const PythonRun description = {types.inputs.data(),
                                 types.names.data(),
                                 types.inputs.size(),
                                 types.outputs.data(),
                                 types.outputs.size(),
                                 run,
                                 context};
  return known.call_run(&known, &description, args, count);
}

struct SharedCode {
  jit::CodePtr code;
  std::shared_ptr<const std::vector<StageTypes>> stages;
  std::uint64_t version = 0;   // of the graph
  bool has_functions = false;  // see [Cycles]
};
SharedCode share_code(jit::CodePtr code);

struct SharedGraph {
  jit::GraphPtr graph;
  // Of the last call, if the graph was called; good while the graph is what it was then.
  SharedCode code = {};
  // Whether a node may have a Python function: see [Cycles].
  bool has_functions = false;
  bool operator==(const SharedGraph& other) const noexcept { return graph == other.graph; }
};

// [Cycles] A Python function in a graph may refer to the graph. If the only owners of the graph are
// one object of Python, and a code that this object or the other of the two owns alone, then that
// object shows the functions to the garbage collector; an object for a node, or a state, is another
// owner, and as long as there is one nothing is collected.
bool holds_functions(const jit::Graph& graph);
int visit_functions(const jit::Graph& graph, visitproc visit, void* argument);
void clear_functions(const jit::Graph& graph);

template <typename T>
Shared<T> share(const jit::GraphPtr& graph, T* item) {
  return {graph, item};
}

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
void add_files(py::module_& module);
void add_codes(py::module_& module);
void add_states(py::module_& module);
void add_pictures(py::class_<SharedGraph>& graph);
void add_passes(py::module_& module);
void add_python_operation(py::module_& module);
void add_tracing(py::module_& module);
// For py::class_<SharedGraph>: the slots of the type that pybind11 has no words for.
void set_graph_slots(PyHeapTypeObject* type);

}  // namespace opyard::graphs

template <typename T>
struct std::hash<opyard::graphs::Shared<T>> {
  std::size_t operator()(const opyard::graphs::Shared<T>& shared) const noexcept {
    return std::hash<T*>()(shared.item);
  }
};
