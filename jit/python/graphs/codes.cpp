// graphs/codes.cpp: Code in Python, its properties before it runs, and pictures of graphs.
#include "graphs/runs.h"

#include "opyard/detail/bind/classes.h"
#include "opyard/jit/draw.h"
#include "opyard/jit/report.h"
#include "opyard/jit/resolve.h"
#include "opyard/jit/types.h"

namespace opyard::graphs {
namespace {

py::list values_in(const jit::GraphPtr& graph, const std::vector<const jit::Value*>& values) {
  py::list shared;
  for (const jit::Value* const value : values) {
    shared.append(py::cast(share(graph, const_cast<jit::Value*>(value))));
  }
  return shared;
}

// (peak, peak_at, peak_values, live_after, unused_inputs, unused_outputs) of each stage; opyard.jit
// names them.
py::list lifetimes(const SharedCode& self) {
  const jit::GraphPtr& graph = self.code->graph_ptr();
  py::list stages;
  for (const jit::StageReport& stage : jit::lifetimes(*self.code)) {
    py::list live_after;
    for (const auto& [value, node] : stage.live_after) {
      live_after.append(py::make_tuple(share(graph, const_cast<jit::Value*>(value)),
                                       share(graph, const_cast<jit::Node*>(node))));
    }
    stages.append(py::make_tuple(stage.peak, stage.peak_at, values_in(graph, stage.peak_values),
                                 live_after, values_in(graph, stage.unused_inputs),
                                 values_in(graph, stage.unused_outputs)));
  }
  return stages;
}

// What a node that calls an operator would give: chosen as compile() chooses.
std::vector<std::string> result_types(const SharedNode& node) {
  std::vector<TypePtr> inputs;
  for (const jit::Value* const input : node.item->inputs()) inputs.push_back(input->type());
  const jit::Callee callee = jit::resolve(*node.item);
  std::vector<std::string> texts;
  for (const TypePtr& type : jit::result_types(callee.schema(), inputs)) {
    texts.push_back(jit::type_text(*type));
  }
  return texts;
}

std::size_t count_of(const SharedCode& self, std::size_t stage, bool outputs) {
  return outputs ? self.code->output_count(stage) : self.code->input_count(stage);
}

}  // namespace

void add_codes(py::module_& module) {
  module.def("result_types", &result_types, py::arg("node"));
  py::class_<SharedCode> code(
      module, "Code", py::custom_type_setup(&set_code_slots),
      "Code(graph)\n--\n\nA graph as flat code; called, it runs a graph of one stage.");
  code.def(py::init([](const py::object& graph) {
             return share_code(
                 jit::compile(require_argument<SharedGraph>(graph, "Code() takes a Graph").graph));
           }),
           py::arg("graph"))
      .def_property_readonly(
          "graph", [](const SharedCode& self) { return SharedGraph{self.code->graph_ptr()}; },
          "the graph that it was compiled from")
      .def_property_readonly(
          "stage_count", [](const SharedCode& self) { return self.code->stage_count(); },
          "how many stages it has: one, and one more for each derivative")
      .def(
          "input_count",
          [](const SharedCode& self, std::size_t stage) { return count_of(self, stage, false); },
          py::arg("stage"))
      .def(
          "output_count",
          [](const SharedCode& self, std::size_t stage) { return count_of(self, stage, true); },
          py::arg("stage"))
      .def_property_readonly(
          "register_count", [](const SharedCode& self) { return self.code->register_count(); },
          "how many registers a run has; each holds one value of 16 bytes")
      .def_property_readonly(
          "instruction_count",
          [](const SharedCode& self) { return self.code->instruction_count(); },
          "how many instructions all stages have")
      .def(
          "register_of",
          [](const SharedCode& self, const py::object& value) {
            return self.code->register_of(
                require_argument<SharedValue>(value, "register_of() takes a Value").item);
          },
          py::arg("value"), "the register of a value, or -1")
      .def(
          "disassemble", [](const SharedCode& self) { return self.code->disassemble(); },
          "a line an instruction; ! marks a last use")
      .def("_lifetimes", &lifetimes)
      .def(
          "report",
          [](const SharedCode& self) { return jit::to_string(jit::lifetimes(*self.code)); },
          "what lives when, for people: opyard.jit.lifetimes() as text")
      .def("__repr__", [](const SharedCode& self) { return self.code->disassemble(); });
  python::make_in_new(code);
  python::refuse_pickling(code);
}

void add_pictures(py::class_<SharedGraph>& graph) {
  graph
      .def(
          "draw", [](const SharedGraph& self) { return jit::draw(*self.graph); },
          "an SVG document: a band for each stage, a box for each node")
      .def("_repr_html_", [](const SharedGraph& self) { return jit::draw(*self.graph); })
      .def(
          "restrict_to",
          [](const SharedGraph& self, const std::vector<std::string>& operators) {
            self.graph->restrict_to(operators);
          },
          py::arg("operators"),
          "from now on only these operators may be called, and a state needs a budget")
      .def_property_readonly(
          "is_restricted", [](const SharedGraph& self) { return self.graph->is_restricted(); },
          "whether only the operators given to restrict_to() may be called");
}

}  // namespace opyard::graphs
