// opyard/detail/graphs/shared.h: Python objects of graphs, nodes, values and codes.
//
// Their classes are those of opyard._graphs, which a module that gives or takes one imports first.
//
// [Life] A node, value or block lives in its graph's memory, so each Python object of one keeps a
// share of the graph. Two objects of one node are equal and have the same hash.
//
// Depends on: opyard/python.h, jit/code.h.
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
  bool has_functions = false;  // see [Cycles] of graphs/graphs.h
};

struct SharedGraph {
  jit::GraphPtr graph;
  // Of the last call, if the graph was called; good while the graph is what it was then.
  SharedCode code = {};
  // Whether a node may have a Python function: see [Cycles] of graphs/graphs.h.
  bool has_functions = false;
  bool operator==(const SharedGraph& other) const noexcept { return graph == other.graph; }
};

template <typename T>
Shared<T> share(const jit::GraphPtr& graph, T* item) {
  return {graph, item};
}

}  // namespace opyard::graphs

template <typename T>
struct std::hash<opyard::graphs::Shared<T>> {
  std::size_t operator()(const opyard::graphs::Shared<T>& shared) const noexcept {
    return std::hash<T*>()(shared.item);
  }
};
