// graphs/classes.h: shared definitions of the Python classes Node, Value, Block and Graph.
//
// Depends on: graphs/graphs.h.
#pragma once

#include "graphs/graphs.h"
#include "opyard/jit/parse.h"

namespace opyard::graphs {

inline TypePtr type_from(const std::string& text) {
  return text.empty() ? TypePtr() : jit::parse_type(text);
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

// nodes.cpp
void add_value(py::class_<SharedValue>& value);
void add_node(py::class_<SharedNode>& node);
void add_block(py::class_<SharedBlock>& block);

}  // namespace opyard::graphs
