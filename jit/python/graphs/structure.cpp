// graphs/structure.cpp: the Python class Graph: queries and edits.
#include "graphs/classes.h"
#include "opyard/detail/bind/classes.h"
#include "opyard/jit/print.h"

namespace opyard::graphs {
namespace {

using jit::Symbol;
using SharedValues = std::vector<SharedValue>;

std::vector<jit::Value*> items_of(const SharedValues& values) {
  std::vector<jit::Value*> items;
  items.reserve(values.size());
  for (const SharedValue& value : values) items.push_back(value.item);
  return items;
}

SharedNode create(const SharedGraph& self, const std::string& kind, const SharedValues& inputs,
                  std::size_t outputs) {
  const std::size_t dot = kind.find('.', kind.find("::") + 1);
  const Symbol symbol = Symbol::from_qual_string(kind.substr(0, dot));
  jit::Node* const node = self.graph->create(symbol, items_of(inputs), outputs);
  if (dot != std::string::npos) node->set_overload(Symbol::attr(kind.substr(dot + 1)));
  return share(self.graph, node);
}

SharedNode create_constant(const SharedGraph& self, const py::object& object,
                           const std::string& type) {
  const PythonTable& known = table();
  const TypePtr wanted = type.empty() ? jit::parse_type("Any") : jit::parse_type(type);
  const Value value = require_value(known, *wanted, object.ptr(), "the constant");
  return share(self.graph, self.graph->create_constant(value, type_from(type)));
}

void add_graph_changes(py::class_<SharedGraph>& graph) {
  graph
      .def(
          "add_input",
          [](const SharedGraph& self, const std::string& name, const std::string& type) {
            return share(self.graph, self.graph->add_input(name, type_from(type)));
          },
          py::arg("name") = "", py::arg("type") = "",
          "a new last input; a Tensor unless told otherwise")
      .def(
          "erase_input",
          [](const SharedGraph& self, std::size_t index) { self.graph->erase_input(index); },
          py::arg("index"))
      .def(
          "permute_inputs",
          [](const SharedGraph& self, const std::vector<std::size_t>& order) {
            self.graph->permute_inputs(order);
          },
          py::arg("order"))
      .def(
          "register_output",
          [](const SharedGraph& self, const SharedValue& value) {
            return self.graph->register_output(value.item);
          },
          py::arg("value"))
      .def(
          "erase_output",
          [](const SharedGraph& self, std::size_t index) { self.graph->erase_output(index); },
          py::arg("index"))
      .def("create", &create, py::arg("kind"), py::arg("inputs") = SharedValues(),
           py::arg("outputs") = 1,
           "a node 'ns::name' or 'ns::name.overload' that is in no block yet")
      .def("create_constant", &create_constant, py::arg("value"), py::arg("type") = "")
      .def(
          "append_node",
          [](const SharedGraph& self, const SharedNode& node) {
            return share(self.graph, self.graph->append_node(node.item));
          },
          py::arg("node"))
      .def(
          "prepend_node",
          [](const SharedGraph& self, const SharedNode& node) {
            return share(self.graph, self.graph->prepend_node(node.item));
          },
          py::arg("node"))
      .def(
          "insert_node",
          [](const SharedGraph& self, const SharedNode& node) {
            return share(self.graph, self.graph->insert_node(node.item));
          },
          py::arg("node"), "puts it in front of the insert point")
      .def(
          "set_insert_point",
          [](const SharedGraph& self, const SharedNode& node) {
            self.graph->set_insert_point(node.item);
          },
          py::arg("node"))
      .def(
          "advance_stage", [](const SharedGraph& self) { return self.graph->advance_stage(); },
          "begins the next stage; gives its number")
      .def(
          "output_stage",
          [](const SharedGraph& self, std::size_t index) {
            return self.graph->output_stage(index);
          },
          py::arg("index"), "the stage that returns an output")
      .def(
          "set_output_stage",
          [](const SharedGraph& self, std::size_t index, int stage) {
            self.graph->set_output_stage(index, stage);
          },
          py::arg("index"), py::arg("stage"));
}

void add_graph(py::class_<SharedGraph>& graph) {
  graph.def(py::init([] { return SharedGraph{jit::make_graph()}; }), "an empty graph")
      .def("__eq__",
           [](const SharedGraph& self, const py::object& other) -> py::object {
             if (!py::isinstance<SharedGraph>(other))
               return py::reinterpret_borrow<py::object>(Py_NotImplemented);
             return py::bool_(self == other.cast<const SharedGraph&>());
           })
      .def("__hash__",
           [](const SharedGraph& self) { return std::hash<jit::Graph*>()(self.graph.get()); })
      .def("__str__", [](const SharedGraph& self) { return jit::to_string(*self.graph); })
      .def("__repr__", [](const SharedGraph& self) { return jit::to_string(*self.graph); })
      .def(
          "text",
          [](const SharedGraph& self, bool source_ranges) {
            return jit::to_string(*self.graph, {source_ranges});
          },
          py::kw_only(), py::arg("source_ranges") = false,
          "as str() has it; with source_ranges '# model.py:12:4' behind each node that knows it")
      .def("inputs",
           [](const SharedGraph& self) { return share_all(self.graph, self.graph->inputs()); })
      .def("outputs",
           [](const SharedGraph& self) { return share_all(self.graph, self.graph->outputs()); })
      .def(
          "nodes",
          [](const SharedGraph& self) { return share_all(self.graph, self.graph->nodes()); },
          "the nodes of the graph's own block, in order")
      .def("param_node",
           [](const SharedGraph& self) { return share(self.graph, self.graph->param_node()); })
      .def("return_node",
           [](const SharedGraph& self) { return share(self.graph, self.graph->return_node()); })
      .def("block", [](const SharedGraph& self) { return share(self.graph, self.graph->block()); })
      .def_property(
          "stage", [](const SharedGraph& self) { return self.graph->stage(); },
          [](const SharedGraph& self, int stage) { self.graph->set_stage(stage); },
          "the number of the last stage")
      .def_property_readonly(
          "node_count", [](const SharedGraph& self) { return self.graph->node_count(); },
          "the nodes that are in a block")
      .def(
          "find_value",
          [](const SharedGraph& self, const std::string& name) -> py::object {
            jit::Value* const found = self.graph->find_value(name);
            return found == nullptr ? py::object(py::none()) : py::cast(share(self.graph, found));
          },
          py::arg("name"), "the value that prints as this, or None")
      .def("copy", [](const SharedGraph& self) { return SharedGraph{self.graph->copy()}; })
      .def(
          "lint", [](const SharedGraph& self) { jit::lint(*self.graph); },
          "raises ValueError naming the first rule that the graph breaks");
  add_graph_changes(graph);
  add_pictures(graph);
}

}  // namespace

void add_structure(py::module_& module) {
  py::class_<SharedGraph> graph(module, "Graph", py::custom_type_setup(&set_graph_slots),
                                "A program over values.");
  py::class_<SharedNode> node(module, "Node", "One step of a graph.");
  py::class_<SharedValue> value(module, "Value", "A name with a type: what a node gives.");
  py::class_<SharedBlock> block(module, "Block", "The nodes of a graph, a branch, or a loop.");
  add_graph(graph);
  add_node(node);
  add_value(value);
  add_block(block);
  python::make_in_new(graph);
  python::refuse_pickling(graph);
  for (const py::object& type : {py::object(node), py::object(value), py::object(block)}) {
    python::refuse_new(type, "a Graph makes them");
    python::refuse_pickling(type);
  }
}

}  // namespace opyard::graphs
