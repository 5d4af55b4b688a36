// opyard/detail/graphs/shared.h: Python objects of graphs, nodes, values and codes.
//
// Their classes are those of opyard._graphs, which a module that gives or takes one imports first.
//
// [Life] A node, value or block lives in its graph's memory, so each Python object of one keeps a
// share of the graph. Two objects of one node are equal and have the same hash.
//
// Depends on: opyard/python.h, jit/aliases.h, jit/code.h.
#pragma once

#include "opyard/detail/bind/extension.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "opyard/jit/aliases.h"
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
  std::vector<std::uint8_t> written;
  bool has_forks = false;
  std::vector<TypePtr> outputs;
};

// Of `count` inputs of a graph from the `first` on, which a stage takes that gives these outputs.
// `label` names an input by its number there.
template <typename Label>
StageTypes stage_types(const jit::Graph& graph, std::size_t first, std::size_t count,
                       std::size_t stage, const Label& label) {
  const std::vector<bool> written = jit::find_written_inputs(graph);
  StageTypes types;
  for (std::size_t i = 0; i < count; ++i) {
    types.inputs.push_back(graph.inputs()[first + i]->type());
    types.labels.push_back("input %" + label(i));
    types.written.push_back(written[first + i] ? 1 : 0);
  }
  for (const std::string& each : types.labels) types.names.push_back(each.c_str());
  types.has_forks = jit::has_forks(graph);
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    if (std::size_t(graph.output_stage(i)) == stage) {
      types.outputs.push_back(graph.outputs()[i]->type());
    }
  }
  return types;
}

using Run = void (*)(void* context, std::span<const opyard::Value> inputs,
                     std::span<opyard::Value> outputs);

// Enters a run with the arguments of a call, and gives its results as objects.
inline PyObject* call_run(const PythonTable& known, const StageTypes& types, Run run, void* context,
                          PyObject* const* args, std::size_t count) {
  const PythonRun description = {"graph",
                                 types.inputs.data(),
                                 types.names.data(),
                                 types.written.data(),
                                 types.inputs.size(),
                                 types.has_forks,
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
