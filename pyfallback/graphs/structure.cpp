// graphs/structure.cpp: Graph, Node, Value and Block as Python classes: what is there, and every change.
#include "graphs/graphs.h"

#include "bind/classes.h"
#include "opyard/jit/parse.h"
#include "opyard/jit/print.h"

namespace opyard::graphs {
namespace {

using jit::Symbol;
using SharedValues = std::vector<SharedValue>;

std::string text_of(Symbol symbol) { return std::string(symbol.qual_string()); }

std::vector<jit::Value*> items_of(const SharedValues& values) {
  std::vector<jit::Value*> items;
  items.reserve(values.size());
  for (const SharedValue& value : values) items.push_back(value.item);
  return items;
}

TypePtr type_from(const std::string& text) {
  return text.empty() ? TypePtr() : jit::parse_type(text);
}

py::object find_or_none(const jit::GraphPtr& graph, jit::Node* node) {
  return node == nullptr ? py::object(py::none()) : py::cast(share(graph, node));
}

template <typename T>
void add_identity(py::class_<Shared<T>>& type) {
  type.def(
      "__eq__",
      [](const Shared<T>& self, const py::object& other) -> py::object {
        if (!py::isinstance<Shared<T>>(other))
          return py::reinterpret_borrow<py::object>(Py_NotImplemented);
        return py::bool_(self == other.cast<const Shared<T>&>());
      },
      "the same one of the same graph");
  type.def("__hash__", [](const Shared<T>& self) { return std::hash<Shared<T>>()(self); });
  type.def(
      "graph", [](const Shared<T>& self) { return SharedGraph{self.graph}; }, "the graph it is in");
}

// (user, offset) of each use.
py::list uses_of(const SharedValue& self) {
  py::list uses;
  for (const jit::Use& use : self.item->uses()) {
    uses.append(py::make_tuple(share(self.graph, use.user), use.offset));
  }
  return uses;
}

void add_value(py::class_<SharedValue>& value) {
  add_identity(value);
  value
      .def("__repr__",
           [](const SharedValue& self) {
             return "%" + self.item->printed_name() + " : " + jit::type_text(*self.item->type());
           })
      .def_property_readonly(
          "unique", [](const SharedValue& self) { return self.item->unique(); },
          "its number in the graph")
      .def_property(
          "debug_name", [](const SharedValue& self) { return self.item->printed_name(); },
          [](const SharedValue& self, const std::string& name) { self.item->set_debug_name(name); },
          "what it prints as, without the %; a name that another value has gets a number behind it")
      .def_property(
          "type", [](const SharedValue& self) { return jit::type_text(*self.item->type()); },
          [](const SharedValue& self, const std::string& text) {
            self.item->set_type(jit::parse_type(text));
          },
          "its type as the text says it: 'Tensor', 'int', 'Float(2, 3)'")
      .def_property_readonly("is_handle",
                             [](const SharedValue& self) { return self.item->is_handle(); })
      .def_property(
          "stage", [](const SharedValue& self) { return self.item->stage(); },
          [](const SharedValue& self, int stage) { self.item->set_stage(stage); },
          "the stage that computes it, or takes it as an input")
      .def(
          "node", [](const SharedValue& self) { return share(self.graph, self.item->node()); },
          "the node that gives it")
      .def_property_readonly(
          "offset", [](const SharedValue& self) { return self.item->offset(); },
          "which output of its node it is")
      .def("uses", &uses_of, "(node, which of its inputs) for each use")
      .def(
          "replace_all_uses_with",
          [](const SharedValue& self, const SharedValue& other) {
            self.item->replace_all_uses_with(other.item);
          },
          py::arg("other"))
      .def(
          "replace_all_uses_after",
          [](const SharedValue& self, const SharedNode& node, const SharedValue& other) {
            self.item->replace_all_uses_after(node.item, other.item);
          },
          py::arg("node"), py::arg("other"));
}

void add_node_places(py::class_<SharedNode>& node) {
  node.def("next",
           [](const SharedNode& self) { return find_or_none(self.graph, self.item->next()); })
      .def("prev",
           [](const SharedNode& self) { return find_or_none(self.graph, self.item->prev()); })
      .def(
          "is_before",
          [](const SharedNode& self, const SharedNode& other) {
            return self.item->is_before(other.item);
          },
          py::arg("other"))
      .def(
          "is_after",
          [](const SharedNode& self, const SharedNode& other) {
            return self.item->is_after(other.item);
          },
          py::arg("other"))
      .def(
          "insert_before",
          [](const SharedNode& self, const SharedNode& other) {
            return share(self.graph, self.item->insert_before(other.item));
          },
          py::arg("other"))
      .def(
          "insert_after",
          [](const SharedNode& self, const SharedNode& other) {
            return share(self.graph, self.item->insert_after(other.item));
          },
          py::arg("other"))
      .def(
          "move_before",
          [](const SharedNode& self, const SharedNode& other) {
            return share(self.graph, self.item->move_before(other.item));
          },
          py::arg("other"))
      .def(
          "move_after",
          [](const SharedNode& self, const SharedNode& other) {
            return share(self.graph, self.item->move_after(other.item));
          },
          py::arg("other"))
      .def(
          "destroy", [](const SharedNode& self) { self.item->destroy(); },
          "removes it for ever; ValueError if an output is used")
      .def_property_readonly("is_destroyed",
                             [](const SharedNode& self) { return self.item->is_destroyed(); });
}

void add_node_edges(py::class_<SharedNode>& node) {
  node.def("inputs",
           [](const SharedNode& self) { return share_all(self.graph, self.item->inputs()); })
      .def("outputs",
           [](const SharedNode& self) { return share_all(self.graph, self.item->outputs()); })
      .def("blocks",
           [](const SharedNode& self) { return share_all(self.graph, self.item->blocks()); })
      .def(
          "output", [](const SharedNode& self) { return share(self.graph, self.item->output()); },
          "the only output; ValueError if there are more or fewer")
      .def(
          "input", [](const SharedNode& self) { return share(self.graph, self.item->input()); },
          "the only input; ValueError if there are more or fewer")
      .def(
          "add_input",
          [](const SharedNode& self, const SharedValue& value) {
            self.item->add_input(value.item);
          },
          py::arg("value"))
      .def(
          "insert_input",
          [](const SharedNode& self, std::size_t index, const SharedValue& value) {
            self.item->insert_input(index, value.item);
          },
          py::arg("index"), py::arg("value"))
      .def(
          "replace_input",
          [](const SharedNode& self, std::size_t index, const SharedValue& value) {
            return share(self.graph, self.item->replace_input(index, value.item));
          },
          py::arg("index"), py::arg("value"))
      .def(
          "replace_input_with",
          [](const SharedNode& self, const SharedValue& from, const SharedValue& to) {
            self.item->replace_input_with(from.item, to.item);
          },
          py::arg("from_"), py::arg("to"))
      .def(
          "remove_input",
          [](const SharedNode& self, std::size_t index) { self.item->remove_input(index); },
          py::arg("index"))
      .def("remove_all_inputs", [](const SharedNode& self) { self.item->remove_all_inputs(); })
      .def(
          "add_output",
          [](const SharedNode& self, const std::string& type) {
            return share(self.graph, self.item->add_output(type_from(type)));
          },
          py::arg("type") = "")
      .def(
          "erase_output",
          [](const SharedNode& self, std::size_t index) { self.item->erase_output(index); },
          py::arg("index"))
      .def("add_block",
           [](const SharedNode& self) { return share(self.graph, self.item->add_block()); })
      .def(
          "erase_block",
          [](const SharedNode& self, std::size_t index) { self.item->erase_block(index); },
          py::arg("index"));
}

void add_node(py::class_<SharedNode>& node) {
  add_identity(node);
  node.def("__repr__", [](const SharedNode& self) { return jit::to_string(*self.item); })
      .def_property_readonly(
          "kind", [](const SharedNode& self) { return text_of(self.item->kind()); },
          "'aten::add', 'prim::Constant', …")
      .def_property_readonly(
          "overload",
          [](const SharedNode& self) {
            return self.item->overload().defined() ? std::string(self.item->overload().name())
                                                   : std::string();
          },
          "the overload that was named; '' if the types of the inputs choose it")
      .def_property(
          "stage", [](const SharedNode& self) { return self.item->stage(); },
          [](const SharedNode& self, int stage) { self.item->set_stage(stage); })
      .def_property_readonly(
          "source_range", [](const SharedNode& self) { return self.item->source_range().text(); },
          "'model.py:12:4', or ''")
      .def_property(
          "scope", [](const SharedNode& self) { return self.item->scope(); },
          [](const SharedNode& self, std::string scope) {
            self.item->set_scope(std::move(scope));
          });
  add_node_edges(node);
  add_node_places(node);
  add_attributes(node);
}

void add_block(py::class_<SharedBlock>& block) {
  add_identity(block);
  block
      .def("inputs",
           [](const SharedBlock& self) { return share_all(self.graph, self.item->inputs()); })
      .def("outputs",
           [](const SharedBlock& self) { return share_all(self.graph, self.item->outputs()); })
      .def("nodes",
           [](const SharedBlock& self) { return share_all(self.graph, self.item->nodes()); })
      .def(
          "add_input",
          [](const SharedBlock& self, const std::string& name, const std::string& type) {
            return share(self.graph, self.item->add_input(name, type_from(type)));
          },
          py::arg("name") = "", py::arg("type") = "")
      .def(
          "register_output",
          [](const SharedBlock& self, const SharedValue& value) {
            return self.item->register_output(value.item);
          },
          py::arg("value"))
      .def(
          "append_node",
          [](const SharedBlock& self, const SharedNode& node) {
            return share(self.graph, self.item->append_node(node.item));
          },
          py::arg("node"));
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
