// graphs/nodes.cpp: Node, Value and Block as Python classes.
#include "graphs/classes.h"
#include "opyard/detail/jit/moves.h"
#include "opyard/jit/print.h"

namespace opyard::graphs {
namespace {

py::object find_or_none(const jit::GraphPtr& graph, jit::Node* node) {
  return node == nullptr ? py::object(py::none()) : py::cast(share(graph, node));
}

SharedNode defining_node(const SharedValue& self) {
  jit::Node* const node = self.item->node();
  OPYARD_CHECK(node != nullptr, BadGraph,
               "value %" + self.item->printed_name() + " was erased, and no node gives it");
  return share(self.graph, node);
}

// (user, offset) of each use.
py::list uses_of(const SharedValue& self) {
  py::list uses;
  for (const jit::Use& use : self.item->uses()) {
    uses.append(py::make_tuple(share(self.graph, use.user), use.offset));
  }
  return uses;
}

}  // namespace

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
      .def_property_readonly(
          "is_pullback", [](const SharedValue& self) { return self.item->is_pullback(); },
          "whether it is what a call leaves for a later stage, of type Pullback")
      .def_property(
          "stage", [](const SharedValue& self) { return self.item->stage(); },
          [](const SharedValue& self, int stage) { self.item->set_stage(stage); },
          "the stage that computes it, or takes it as an input")
      .def("node", &defining_node, "the node that gives it; ValueError for a value that was erased")
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

namespace {

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
          "try_move_before",
          [](const SharedNode& self, const SharedNode& other) {
            return jit::try_move_before(self.item, other.item, jit::Aliases(self.item->graph()));
          },
          py::arg("other"),
          "moves it, with what has to go along, if the graph computes the same then; whether it "
          "did")
      .def(
          "try_move_after",
          [](const SharedNode& self, const SharedNode& other) {
            return jit::try_move_after(self.item, other.item, jit::Aliases(self.item->graph()));
          },
          py::arg("other"))
      .def(
          "destroy", [](const SharedNode& self) { self.item->destroy(); },
          "removes it for ever; ValueError if an output is used")
      .def_property_readonly(
          "is_destroyed", [](const SharedNode& self) { return self.item->is_destroyed(); },
          "whether destroy() removed it; a change of it raises ValueError then");
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

}  // namespace

void add_node(py::class_<SharedNode>& node) {
  add_identity(node);
  node.def("__repr__", [](const SharedNode& self) { return jit::to_string(*self.item); })
      .def_property_readonly(
          "kind",
          [](const SharedNode& self) { return std::string(self.item->kind().qual_string()); },
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
          [](const SharedNode& self, int stage) { self.item->set_stage(stage); },
          "the stage that runs it; 0 is the first")
      .def_property_readonly(
          "source_range", [](const SharedNode& self) { return self.item->source_range().text(); },
          "'model.py:12:4', or ''")
      .def_property(
          "scope", [](const SharedNode& self) { return self.item->scope(); },
          [](const SharedNode& self, std::string scope) { self.item->set_scope(std::move(scope)); },
          "the part of the model that it belongs to, such as 'encoder.layer1', or ''");
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

}  // namespace opyard::graphs
