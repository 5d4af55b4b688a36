// ir/constant.cpp: prim::Constant nodes and the values they hold, both ways.
#include "opyard/jit/constant.h"

#include <fmt/format.h>

#include <algorithm>

#include "opyard/schema/type_of.h"
#include "opyard/value/cast.h"

namespace opyard::jit {
namespace {

// The elements of a list that are all of one kind, as a C++ vector.
template <typename T>
std::vector<T> elements_of(const opyard::Value& list) {
  return list.to<std::vector<T>>();
}

bool all_of_kind(const opyard::Value& list, Kind kind) {
  const std::vector<opyard::Value>& items = list.items_unchecked();
  return !items.empty() && std::all_of(items.begin(), items.end(), [&](const opyard::Value& item) {
    return item.kind() == kind;
  });
}

AttributeValue attribute_of_list(const opyard::Value& list) {
  if (all_of_kind(list, Kind::Int)) return elements_of<std::int64_t>(list);
  if (all_of_kind(list, Kind::Double)) return elements_of<double>(list);
  if (all_of_kind(list, Kind::Complex)) return elements_of<std::complex<double>>(list);
  if (all_of_kind(list, Kind::String)) return elements_of<std::string>(list);
  if (all_of_kind(list, Kind::Tensor)) return elements_of<Tensor>(list);
  return list;
}

// Nothing for a value that is no constant.
std::optional<AttributeValue> attribute_of(const opyard::Value& value) {
  switch (value.kind()) {
    case Kind::Bool:
      return std::int64_t{value.bool_unchecked()};
    case Kind::Int:
      return value.int_unchecked();
    case Kind::Double:
      return value.double_unchecked();
    case Kind::Complex:
      return value.to_complex();
    case Kind::String:
      return std::string(value.to_string_view());
    case Kind::Device:
      return opyard::to_string(value.device_unchecked());
    case Kind::Tensor:
      return value.tensor_unchecked();
    case Kind::List:
      return attribute_of_list(value);
    case Kind::Tuple:
    case Kind::Dict:
    case Kind::Object:
    case Kind::Enum:
    case Kind::PyObject:
    case Kind::Generator:
      return value;
    default:
      return std::nullopt;
  }
}

template <typename T>
opyard::Value list_value(const std::vector<T>& items) {
  return opyard::Value::of(items);
}

opyard::Value integer_as(const Type& type, std::int64_t number) {
  const Type& plain = type.kind() == TypeKind::Optional ? type.element() : type;
  if (plain.kind() == TypeKind::Bool) return opyard::Value(number != 0);
  if (plain.kind() == TypeKind::Float) return opyard::Value(double(number));
  return opyard::Value(number);
}

opyard::Value integers_as(const Type& type, const std::vector<std::int64_t>& numbers) {
  std::vector<opyard::Value> items;
  items.reserve(numbers.size());
  const Type& plain = type.kind() == TypeKind::Optional ? type.element() : type;
  for (const std::int64_t number : numbers) {
    items.push_back(plain.kind() == TypeKind::List ? integer_as(plain.element(), number)
                                                   : opyard::Value(number));
  }
  return opyard::Value::list(std::move(items));
}

struct ConstantReader {
  const Type& type;

  opyard::Value operator()(std::int64_t number) const { return integer_as(type, number); }
  opyard::Value operator()(const std::vector<std::int64_t>& numbers) const {
    return integers_as(type, numbers);
  }
  opyard::Value operator()(const std::string& text) const {
    if (type.kind() == TypeKind::Device) return opyard::Value(parse_device(text));
    return opyard::Value(std::string_view(text));
  }
  opyard::Value operator()(double number) const { return opyard::Value(number); }
  opyard::Value operator()(std::complex<double> number) const { return opyard::Value(number); }
  opyard::Value operator()(const Tensor& tensor) const { return opyard::Value(tensor); }
  opyard::Value operator()(const opyard::Value& value) const { return value; }
  template <typename T>
  opyard::Value operator()(const std::vector<T>& items) const {
    if constexpr (std::is_same_v<T, GraphPtr> || std::is_same_v<T, TypePtr>) {
      return refuse();
    } else {
      return list_value(items);
    }
  }
  opyard::Value operator()(const GraphPtr&) const { return refuse(); }
  opyard::Value operator()(const TypePtr&) const { return refuse(); }

 private:
  [[noreturn]] static opyard::Value refuse() {
    fail(ErrorKind::BadGraph, "the 'value' of a 'prim::Constant' is a graph or a type");
  }
};

}  // namespace

Node* Graph::create_constant(const opyard::Value& value, TypePtr type) {
  if (type == nullptr) type = type_of_constant(value);
  Node* const node = create(prim::Constant);
  node->output()->set_type(std::move(type));
  if (value.is_none()) return node;
  std::optional<AttributeValue> attribute = attribute_of(value);
  OPYARD_CHECK(
      attribute, BadArgument,
      fmt::format("a value of kind {} cannot be a constant of a graph", name_of(value.kind())));
  return node->set_attribute(attr::value, *std::move(attribute));
}

TypePtr type_of_constant(const opyard::Value& value) {
  if (value.is_tensor()) return type_of_tensor(value.tensor_unchecked());
  return type_of(value);
}

opyard::Value constant_value(const Node& node) {
  const Attribute* const attribute = node.find_attribute(attr::value);
  if (attribute == nullptr) return {};
  return std::visit(ConstantReader{*node.output()->type()}, attribute->value);
}

}  // namespace opyard::jit
