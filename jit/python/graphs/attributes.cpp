// graphs/attributes.cpp: the attributes of nodes in Python: node["value"], node.i_("dim", 1).
//
// Kinds are those of attribute_kinds.def; a getter and a setter for each are made from that list.
#include "graphs/graphs.h"

#include <pybind11/complex.h>

#include "opyard/jit/parse.h"

namespace opyard::graphs {
namespace {

using jit::GraphPtr;
using jit::Symbol;

// Python's form of each kind, both ways.
template <typename T>
py::object to_python(const T& plain) {
  return py::cast(plain);
}
py::object to_python(const Tensor& tensor) {
  return py::reinterpret_steal<py::object>(to_object(table(), tensor));
}
py::object to_python(const jit::GraphPtr& graph) { return py::cast(SharedGraph{graph}); }
py::object to_python(const TypePtr& type) { return py::str(jit::type_text(*type)); }
py::object to_python(const opyard::Value& value) {
  const PythonTable& known = table();
  return take_result(known.from_value(&known, nullptr, &value));
}
template <typename T>
py::object to_python(const std::vector<T>& items) {
  py::list list;
  for (const T& item : items) list.append(to_python(item));
  return list;
}

template <typename T>
struct FromPython {
  static T get(const py::object& object) { return object.cast<T>(); }
};
template <>
struct FromPython<Tensor> {
  static Tensor get(const py::object& object) { return require_tensor(table(), object.ptr()); }
};
template <>
struct FromPython<jit::GraphPtr> {
  static jit::GraphPtr get(const py::object& object) { return object.cast<SharedGraph>().graph; }
};
template <>
struct FromPython<TypePtr> {
  static TypePtr get(const py::object& object) {
    return jit::parse_type(object.cast<std::string>());
  }
};
template <>
struct FromPython<opyard::Value> {
  static opyard::Value get(const py::object& object) {
    return require_value(table(), *jit::parse_type("Any"), object.ptr(), "the attribute");
  }
};
template <typename T>
struct FromPython<std::vector<T>> {
  static std::vector<T> get(const py::object& object) {
    std::vector<T> items;
    for (const py::handle each : object) {
      items.push_back(FromPython<T>::get(py::reinterpret_borrow<py::object>(each)));
    }
    return items;
  }
};

py::object get(const SharedNode& self, const std::string& name) {
  const jit::Attribute* const found = self.item->find_attribute(Symbol::attr(name));
  if (found == nullptr) throw py::key_error(name);
  return std::visit([](const auto& value) { return to_python(value); }, found->value);
}

std::vector<std::string> names_of(const SharedNode& self) {
  std::vector<std::string> names;
  for (const Symbol name : self.item->attribute_names()) names.emplace_back(name.name());
  return names;
}

}  // namespace

void add_attributes(py::class_<SharedNode>& node) {
  node.def("__getitem__", &get, "the attribute of this name; KeyError if there is none")
      .def(
          "has_attribute",
          [](const SharedNode& self, const std::string& name) {
            return self.item->has_attribute(Symbol::attr(name));
          },
          py::arg("name"))
      .def("attribute_names", &names_of, "in order of insertion")
      .def(
          "kind_of",
          [](const SharedNode& self, const std::string& name) {
            return std::string(jit::letters_of(self.item->kind_of(Symbol::attr(name))));
          },
          py::arg("name"), "'i' for an int, 'fs' for a list of floats, …")
      .def(
          "remove_attribute",
          [](const SharedNode& self, const std::string& name) {
            self.item->remove_attribute(Symbol::attr(name));
            return self;
          },
          py::arg("name"))
      .def(
          "copy_attributes",
          [](const SharedNode& self, const SharedNode& from) {
            self.item->copy_attributes(from.item);
            return self;
          },
          py::arg("other"));
#define OPYARD_ATTRIBUTE_KIND(letters, type, words)                                  \
  node.def(                                                                          \
      #letters,                                                                      \
      [](const SharedNode& self, const std::string& name) {                          \
        return to_python(self.item->letters(Symbol::attr(name)));                    \
      },                                                                             \
      py::arg("name"), "the attribute of this name, which is " words);               \
  node.def(                                                                          \
      #letters "_",                                                                  \
      [](const SharedNode& self, const std::string& name, const py::object& value) { \
        self.item->letters##_(Symbol::attr(name), FromPython<type>::get(value));     \
        return self;                                                                 \
      },                                                                             \
      py::arg("name"), py::arg("value"),                                             \
      "sets the attribute of this name to " words "; gives the node");
#include "opyard/jit/attribute_kinds.def"
#undef OPYARD_ATTRIBUTE_KIND
}

}  // namespace opyard::graphs
