// exported/arguments.cpp: arguments of exported nodes, by tag.
#include "exported/arguments.h"

#include <cmath>

#include <fmt/format.h>

#include "exported/program.h"
#include "opyard/base/error.h"
#include "opyard/value/list.h"

namespace opyard::jit {
namespace {

// Without the question mark.
const Type& inner(const Type& type) {
  return type.kind() == TypeKind::Optional ? type.element() : type;
}

double real_of(const Json& value, const std::string& what) {
  if (value.is_string()) {  // what JSON has no number for
    const std::string& text = value.get_ref<const std::string&>();
    if (text == "Infinity") return HUGE_VAL;
    if (text == "-Infinity") return -HUGE_VAL;
    if (text == "NaN") return std::nan("");
  }
  OPYARD_CHECK(value.is_number(), BadValue, fmt::format("{} has a float that is no number", what));
  return value.get<double>();
}

// Numbers and texts that a list holds, and that are an argument by themselves.
opyard::Value plain_value(const std::string& kind, const Json& value, const Type& type,
                          const std::string& what) {
  if (kind.starts_with("as_float")) return real_of(value, what);
  if (kind.starts_with("as_bool")) return opyard::Value(require_bool(value, what));
  if (kind.starts_with("as_string")) return opyard::Value(require_text(value, what));
  const std::int64_t number = require_int(value, what);
  if (inner(type).kind() == TypeKind::Float) return double(number);
  return number;
}

}  // namespace

std::pair<std::string, const Json*> kind_and_value(const Json& argument, const std::string& what) {
  require_object(argument, what);
  OPYARD_CHECK(argument.size() == 1, BadValue,
               fmt::format("{} has an argument of {} kinds; one is taken", what, argument.size()));
  return {argument.begin().key(), &argument.begin().value()};
}

void ExportedValues::define(const std::string& name, Value* value) {
  OPYARD_CHECK(values_.emplace(name, value).second, BadValue,
               fmt::format("{} defines the value \"{}\" twice", what_, name));
}

Value* ExportedValues::require(const Json& name) const {
  const auto found = values_.find(require_text(name, what_));
  OPYARD_CHECK(found != values_.end(), BadValue,
               fmt::format("{} uses the value {} before it is defined", what_, name.dump()));
  return found->second;
}

Value* ExportedValues::constant(const opyard::Value& value, const Type& type) {
  const TypePtr runtime = runtime_type(type);
  const Type& wanted = inner(*runtime);
  const bool list_type = wanted.kind() == TypeKind::List;
  return graph_.insert_constant(
      value, value.is_list() && list_type ? list_of(wanted.elements().front()) : TypePtr());
}

// Each item is an argument, or a tensor's name: {"name": "x"}.
Value* ExportedValues::list(const Json& items, const Type& type) {
  const TypePtr runtime = runtime_type(type);
  const Type& wanted = inner(*runtime);
  const TypePtr element =
      wanted.kind() == TypeKind::List ? wanted.elements().front() : base_type(TypeKind::Tensor);
  std::vector<Value*> values;
  for (const Json& item : require_array(items, what_)) {
    const Json* const name = find_member(item, "name");
    values.push_back(name != nullptr ? require(*name) : argument(item, *element));
  }
  Node* const node = graph_.create(prim::ListConstruct, values);
  node->output()->set_type(list_of(element));
  graph_.insert_node(node);
  return node->output();
}

Value* ExportedValues::argument(const Json& given, const Type& type) {
  const auto [kind, value] = kind_and_value(given, what_);
  if (kind == "as_none") return graph_.insert_constant(opyard::Value());
  if (kind == "as_tensor") return require(require_member(*value, "name", what_));
  if (kind == "as_optional_tensor") return argument(*value, type);
  if (kind == "as_tensors" || kind == "as_optional_tensors" || kind == "as_sym_ints") {
    return list(*value, type);
  }
  if (kind == "as_name") return require(*value);
  if (kind == "as_sym_int" || kind == "as_sym_bool" || kind == "as_sym_float") {
    return argument(*value, type);
  }
  if (kind == "as_int" || kind == "as_float" || kind == "as_bool" || kind == "as_string") {
    return constant(plain_value(kind, *value, type, what_), type);
  }
  if (kind == "as_ints" || kind == "as_floats" || kind == "as_bools" || kind == "as_strings") {
    const Type& wanted = inner(type);
    const Type& element = wanted.kind() == TypeKind::List ? *wanted.elements().front() : wanted;
    std::vector<opyard::Value> items;
    for (const Json& item : require_array(*value, what_)) {
      items.push_back(plain_value(kind, item, element, what_));
    }
    return constant(opyard::Value::list(std::move(items)), type);
  }
  if (kind == "as_scalar_type") {
    return graph_.insert_constant(std::int64_t(require_exported_dtype(*value, what_)));
  }
  if (kind == "as_device") {
    const std::string& device = require_text(require_member(*value, "type", what_), what_);
    OPYARD_CHECK(device == "cpu", Unsupported,
                 fmt::format("the device {} as an argument; export the model on the CPU",
                             Json(device).dump()));
    return graph_.insert_constant(Device());
  }
  // Both say what is so anyway: rows, one behind the other.
  if (kind == "as_layout" && require_int(*value, what_) == 7)
    return graph_.insert_constant(opyard::Value());
  if (kind == "as_memory_format") {
    const std::int64_t format = require_int(*value, what_);
    OPYARD_CHECK(format == 1 || format == 4, Unsupported, "a memory format that is not row-major");
    return graph_.insert_constant(std::int64_t{format == 1 ? 0 : 1});
  }
  fail(ErrorKind::Unsupported, fmt::format("an argument of the kind {}", Json(kind).dump()));
}

}  // namespace opyard::jit
