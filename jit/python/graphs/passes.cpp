// graphs/passes.cpp: jit/{passes,differentiate,fuse,match,file_check}.h in Python.
//
// A pass holds the GIL: a graph is changed by one thread at a time.
#include "graphs/graphs.h"

#include "opyard/jit/differentiate.h"
#include "opyard/jit/file_check.h"
#include "opyard/jit/fuse.h"
#include "opyard/jit/match.h"
#include "opyard/jit/passes.h"

namespace opyard::graphs {
namespace {

struct Pass {
  const char* name;
  bool (*run)(jit::Graph& graph);
};
constexpr Pass kPasses[] = {
#define OPYARD_PASS(name, words) {#name, &jit::passes::name},
#include "opyard/jit/passes.def"
#undef OPYARD_PASS
};

bool run_pass(const SharedGraph& graph, const std::string& name) {
  for (const Pass& pass : kPasses) {
    if (name == pass.name) return pass.run(*graph.graph);
  }
  throw py::value_error("there is no pass '" + name + "'");
}

}  // namespace

void add_passes(py::module_& module) {
  module.def(
      "find_matches",
      [](const SharedGraph& pattern, const SharedGraph& graph) {
        py::list found;
        for (const jit::Match& match : jit::find_matches(*pattern.graph, *graph.graph)) {
          py::dict values;
          for (const auto& [of_pattern, value] : match.values) {
            values[py::str(of_pattern->printed_name())] = py::cast(share(graph.graph, value));
          }
          found.append(std::move(values));
        }
        return found;
      },
      py::arg("pattern"), py::arg("graph"));
  module.def(
      "differentiate",
      [](const SharedGraph& graph, const std::vector<SharedValue>& wrt, bool allow_unused) {
        std::vector<jit::Value*> values;
        values.reserve(wrt.size());
        for (const SharedValue& value : wrt) values.push_back(value.item);
        const auto done = jit::passes::differentiate(*graph.graph, values, allow_unused);
        return py::make_tuple(done.wrt, done.outputs);
      },
      py::arg("graph"), py::arg("wrt"), py::arg("allow_unused") = false);
  module.def(
      "fuse", [](const SharedGraph& graph) { return jit::passes::fuse(*graph.graph); },
      py::arg("graph"));
  module.def("fusion_counts", [] {
    const jit::FusionCounts counts = jit::fusion_counts();
    return py::make_tuple(counts.plans, counts.unfused);
  });
  module.def("run_pass", &run_pass, py::arg("graph"), py::arg("name"));
  module.def(
      "find_mismatch",
      [](const std::string& text, const std::string& expectations) {
        return jit::find_mismatch(text, expectations);
      },
      py::arg("text"), py::arg("expectations"));
}

}  // namespace opyard::graphs
