// bind/schema.cpp: schemas as Python objects.
//
// All of them are values: immutable, equal by structure, printed as they are written. A schema
// hands out copies of its parts, so nothing refers to anything else.
#include "bind/schema.h"

#include <algorithm>

#include "opyard/detail/bind/classes.h"
#include "opyard/schema/parse.h"
#include "opyard/schema/relations.h"
#include "opyard/schema/schema.h"

namespace py = pybind11;

namespace opyard::python {
namespace {

// A type is shared and immutable; Python holds a share of it.
struct TypeHandle {
  TypePtr type;
};

constexpr const char* kKindNames[] = {
#define OPYARD_BASE_TYPE(name, text, ...) #name,
#include "opyard/schema/types.def"
#undef OPYARD_BASE_TYPE
    "List", "Optional", "Tuple", "Dict", "Future", "RRef", "Await", "Union", "Variable", "Class",
};
static_assert(std::size(kKindNames) == std::size_t(TypeKind::Class) + 1);

const char* type_kind_name(TypeKind kind) noexcept { return kKindNames[std::size_t(kind)]; }

std::vector<TypeHandle> elements_of(const TypeHandle& handle) {
  std::vector<TypeHandle> elements;
  for (const TypePtr& element : handle.type->elements()) elements.push_back({element});
  return elements;
}

py::object size_hint_of(const Type& type) {
  if (type.kind() == TypeKind::Optional) return size_hint_of(type.element());
  if (type.kind() != TypeKind::List || type.size_hint() == 0) return py::none();
  return py::int_(type.size_hint());
}

py::object to_object(const Value& value);

template <typename Sequence>
py::object sequence_of(const std::vector<Value>& values) {
  py::list list;
  for (const Value& value : values) list.append(to_object(value));
  return Sequence(list);
}

// The default value of an argument: what a schema's text can say.
py::object to_object(const Value& value) {
  switch (value.kind()) {
    case Kind::None:
      return py::none();
    case Kind::Bool:
      return py::bool_(value.bool_unchecked());
    case Kind::Int:
      return py::int_(value.int_unchecked());
    case Kind::Double:
      return py::float_(value.double_unchecked());
    case Kind::Complex:
      return py::reinterpret_steal<py::object>(
          PyComplex_FromDoubles(value.to_complex().real(), value.to_complex().imag()));
    case Kind::List:
      return sequence_of<py::list>(value.items_unchecked());
    case Kind::Tuple:
      return sequence_of<py::tuple>(value.items_unchecked());
    case Kind::String:
      return py::str(std::string(value.to_string_view()));
    case Kind::Device:
      return py::module_::import("opyard._C").attr("device")(to_string(value));
    default:
      return py::str(to_string(value));
  }
}

py::tuple tuple_of(const std::vector<std::string>& names) {
  py::tuple tuple(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) tuple[i] = names[i];
  return tuple;
}

py::set set_of(const std::vector<std::string>& names) {
  py::set set;
  for (const std::string& name : names) set.add(py::str(name));
  return set;
}

void add_type(py::module_& module) {
  py::class_<TypeHandle>(module, "Type", "The type of an argument or result; str() as written.")
      .def_property_readonly(
          "kind", [](const TypeHandle& self) { return type_kind_name(self.type->kind()); },
          "'Tensor', 'Int', 'List', 'Optional', …")
      .def_property_readonly("elements", &elements_of, "the types this one is made of")
      .def_property_readonly(
          "N", [](const TypeHandle& self) { return size_hint_of(*self.type); },
          "the size in T[N], or None")
      .def_property_readonly(
          "runtime_text", [](const TypeHandle& self) { return runtime_text(*self.type); },
          "the type that a kernel sees: 'int' for ScalarType")
      .def_property_readonly(
          "runtime_type",
          [](const TypeHandle& self) { return TypeHandle{runtime_type(*self.type)}; },
          "the type that a kernel sees: int for ScalarType")
      .def(
          "is_subtype_of",
          [](const TypeHandle& self, const TypeHandle& wide) {
            return is_subtype(*self.type, *wide.type);
          },
          py::arg("wide"), py::pos_only())
      .def("__str__", [](const TypeHandle& self) { return to_string(*self.type); })
      .def("__repr__",
           [](const TypeHandle& self) { return "<Type '" + to_string(*self.type) + "'>"; })
      .def("__hash__",
           [](const TypeHandle& self) { return std::hash<std::string>()(to_string(*self.type)); })
      .def(
          "__eq__",
          [](const TypeHandle& a, const TypeHandle& b) { return equal(*a.type, *b.type); },
          py::is_operator());
}

// Of a list, its elements may be what is written to: Tensor(a!)[].
bool writes(const AliasInfo& alias) {
  return alias.is_write || std::any_of(alias.contained.begin(), alias.contained.end(), writes);
}

void add_alias_info(py::module_& module) {
  py::class_<AliasInfo>(module, "AliasInfo", "The alias sets of an argument or result.")
      .def_property_readonly("is_write", &writes, "whether a call writes to it, or to an element")
      .def_property_readonly(
          "before_set", [](const AliasInfo& self) { return set_of(self.before); },
          "the sets it is in when the call begins")
      .def_property_readonly(
          "after_set", [](const AliasInfo& self) { return set_of(self.after); },
          "the sets it is in after the call")
      .def_property_readonly(
          "before", [](const AliasInfo& self) { return tuple_of(self.before); },
          "before_set as it was written, in order")
      .def_property_readonly(
          "after", [](const AliasInfo& self) { return tuple_of(self.after); },
          "after_set as it was written, in order")
      .def_readonly("contained", &AliasInfo::contained, "one for each element type, or none")
      .def(
          "__eq__", [](const AliasInfo& a, const AliasInfo& b) { return a == b; },
          py::is_operator());
}

void add_argument(py::module_& module) {
  py::class_<Argument>(module, "Argument", "One argument or result of a schema.")
      .def_readonly("name", &Argument::name, "'' for a result without a name")
      .def_property_readonly(
          "type", [](const Argument& self) { return TypeHandle{self.type}; }, "its type as written")
      .def_property_readonly(
          "real_type", [](const Argument& self) { return TypeHandle{self.type}; },
          "the type as written, which `type` is here, too; its runtime_type is what a kernel sees")
      .def_property_readonly(
          "N", [](const Argument& self) { return size_hint_of(*self.type); },
          "the size in T[N], or None")
      .def("has_default_value", [](const Argument& self) { return self.default_value.has_value(); })
      .def_property_readonly(
          "default_value",
          [](const Argument& self) {
            return self.default_value ? to_object(*self.default_value) : py::none();
          },
          "also None, if there is none")
      .def_readonly("kwarg_only", &Argument::keyword_only, "whether it is given by name alone")
      .def_property_readonly(
          "alias_info", [](const Argument& self) { return self.alias.to_optional(); },
          "AliasInfo, or None")
      .def_property_readonly("is_write", &Argument::is_write, "whether a call writes to it")
      .def_property_readonly("is_out", &Argument::is_out, "whether it takes the result of a call")
      .def("__str__", [](const Argument& self) { return to_string(self); })
      .def("__repr__", [](const Argument& self) { return "<Argument '" + to_string(self) + "'>"; })
      .def(
          "__eq__", [](const Argument& a, const Argument& b) { return a == b; }, py::is_operator());
}

Callers callers_of(bool by_name) { return by_name ? Callers::ByName : Callers::All; }

// (fits, why not)
py::tuple answer(const std::optional<std::string>& why) {
  return py::make_tuple(!why.has_value(), why.value_or(""));
}

// For pickle and copy: the text is parsed again, by a function of the package whose name is all
// that is pickled.
py::tuple reduce(const Schema& self, int) {
  const py::object parse = py::module_::import("opyard.schema").attr("parse");
  return py::make_tuple(parse, py::make_tuple(to_string(self)));
}

void add_schema_class(py::module_& module) {
  py::class_<Schema>(module, "Schema", "What an operator takes and gives. Made by parse().")
      .def_property_readonly(
          "name", [](const Schema& self) { return self.name.name; }, "'ns::name'")
      .def_property_readonly(
          "overload_name", [](const Schema& self) { return self.name.overload; },
          "'' for the unnamed one")
      .def_readonly("arguments", &Schema::arguments, "what it takes, in order")
      .def_readonly("returns", &Schema::results, "what it gives, in order")
      .def_readonly("is_vararg", &Schema::variadic_arguments,
                    "whether any further arguments are taken, written as '...'")
      .def_readonly("is_varret", &Schema::variadic_results,
                    "whether any further results are given, written as '...'")
      .def_property_readonly(
          "is_mutable", [](const Schema& self) { return self.is_mutable(); },
          "whether a call writes to an argument")
      .def_property_readonly("is_view", &Schema::is_view,
                             "whether a result is a view of an argument")
      .def_property_readonly(
          "is_functional", [](const Schema& self) { return is_functional(self); },
          "whether a call only computes")
      .def_property_readonly(
          "has_any_alias_info", [](const Schema& self) { return has_alias_sets(self); },
          "whether anything has an alias set")
      .def_property_readonly(
          "num_out_arguments", [](const Schema& self) { return out_argument_count(self); },
          "how many arguments take a result: keyword-only and written to")
      .def(
          "find_difference",
          [](const Schema& self, const Schema& other) { return find_difference(self, other); },
          py::arg("other"), py::pos_only())
      .def(
          "is_backward_compatible_with",
          [](const Schema& self, const Schema& old, bool by_name) {
            return !why_not_backward_compatible(self, old, callers_of(by_name)).has_value();
          },
          py::arg("old"), py::pos_only(), py::kw_only(), py::arg("by_name") = false)
      .def(
          "check_backward_compatible_with",
          [](const Schema& self, const Schema& old, bool by_name) {
            return answer(why_not_backward_compatible(self, old, callers_of(by_name)));
          },
          py::arg("old"), py::pos_only(), py::kw_only(), py::arg("by_name") = false)
      .def(
          "check_forward_compatible_with",
          [](const Schema& self, const Schema& old, bool by_name) {
            return answer(why_not_forward_compatible(self, old, callers_of(by_name)));
          },
          py::arg("old"), py::pos_only(), py::kw_only(), py::arg("by_name") = false)
      .def("__str__", [](const Schema& self) { return to_string(self); })
      .def("__repr__", [](const Schema& self) { return "<Schema '" + to_string(self) + "'>"; })
      .def("__hash__", [](const Schema& self) { return std::hash<std::string>()(to_string(self)); })
      .def(
          "__eq__", [](const Schema& a, const Schema& b) { return a == b; }, py::is_operator())
      .def("__reduce_ex__", &reduce, py::arg("protocol"), py::pos_only())
      .def("__reduce__", [](const Schema& self) { return reduce(self, 0); });
}

}  // namespace

void add_schema(py::module_& module) {
  add_type(module);
  add_alias_info(module);
  add_argument(module);
  add_schema_class(module);
  for (const char* name : {"Type", "AliasInfo", "Argument", "Schema"}) {
    module.attr(name).attr("__module__") = "opyard.schema";
  }
  for (const char* name : {"Type", "AliasInfo", "Argument"}) refuse_pickling(module.attr(name));
  for (const char* name : {"Type", "AliasInfo", "Argument", "Schema"}) {
    refuse_new(module.attr(name), "schemas and their parts are made by opyard.schema.parse(text)");
  }
  module.def(
      "parse", [](const std::string& text) { return parse_schema(text); }, py::arg("text"),
      py::pos_only(),
      "The schema that a text says. Raises ValueError, with line, column and a caret.");
}

}  // namespace opyard::python
