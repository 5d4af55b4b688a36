// schema/accepts.cpp: whether a value may stand for an argument of a type.
#include <algorithm>

#include "opyard/detail/value/dict_object.h"
#include "opyard/schema/future_type.h"
#include "opyard/schema/relations.h"

namespace opyard {
namespace {

bool accepts_items(const Type& element, const std::vector<Value>& items) {
  const bool tensors = element.kind() == TypeKind::Tensor;
  return std::all_of(items.begin(), items.end(), [&](const Value& item) {
    return tensors ? item.is_tensor() : accepts(element, item);
  });
}

bool accepts_tuple(std::span<const TypePtr> elements, const Value& value) {
  if (!value.is_tuple()) return false;
  const std::vector<Value>& items = value.items_unchecked();
  return std::equal(elements.begin(), elements.end(), items.begin(), items.end(),
                    [](const TypePtr& type, const Value& item) { return accepts(*type, item); });
}

bool accepts_dict(const Type& key, const Type& element, const Value& value) {
  if (!value.is_dict()) return false;
  const DictObject& dict = value.to_dict();
  for (std::size_t at = dict.next(0); at != DictObject::kEnd; at = dict.next(at + 1)) {
    if (!accepts(key, dict.key_at(at)) || !accepts(element, dict.value_at(at))) return false;
  }
  return true;
}

// A class or an enum of that name.
bool accepts_user_type(const std::string& name, const Value& value) {
  if (value.is_object()) return value.to_object().type().name() == name;
  return value.is_enum() && value.to_enum().type->name() == name;
}

// A future of such an element. One that has no element type is looked at where it has a value, and
// taken on trust before: whoever reads the value finds out what it is.
bool accepts_future(const Type& element, const Value& value) {
  if (!value.is_future()) return false;
  if (element.kind() == TypeKind::Any || element.kind() == TypeKind::Variable) return true;
  FutureObject& future = value.to_future();
  if (future.element() != nullptr) return is_subtype(*element_type(future), element);
  return !future.has_value() || accepts(element, future.value());
}

}  // namespace

bool accepts(const Type& type, const Value& value) {
  switch (type.kind()) {
    case TypeKind::Tensor:
      return value.is_tensor() || value.is_none();
    case TypeKind::SymInt:
      return value.is_int() || value.is_sym_int();
    case TypeKind::SymFloat:
      return value.is_double() || value.is_sym_float();
    case TypeKind::SymBool:
      return value.is_bool() || value.is_sym_bool();
    case TypeKind::Int:
    case TypeKind::DeviceIndex:
    case TypeKind::ScalarType:
    case TypeKind::Layout:
    case TypeKind::MemoryFormat:
    case TypeKind::QScheme:
      return value.is_int();
    case TypeKind::Float:
      return value.is_double();
    case TypeKind::Bool:
      return value.is_bool();
    case TypeKind::Scalar:
      return value.is_int() || value.is_double() || value.is_bool() || value.is_complex();
    case TypeKind::Complex:
      return value.is_complex();
    case TypeKind::Str:
    case TypeKind::Dimname:
      return value.is_string();
    case TypeKind::Device:
      return value.is_device();
    case TypeKind::None:
      return value.is_none();
    case TypeKind::Any:
    case TypeKind::Variable:
      return true;
    case TypeKind::Optional:
      return value.is_none() || accepts(type.element(), value);
    case TypeKind::List:
      return value.is_list() && accepts_items(type.element(), value.items_unchecked());
    case TypeKind::Tuple:
      return accepts_tuple(type.elements(), value);
    case TypeKind::Union:
      return std::any_of(type.elements().begin(), type.elements().end(),
                         [&](const TypePtr& member) { return accepts(*member, value); });
    case TypeKind::Dict:
      return accepts_dict(*type.elements()[0], *type.elements()[1], value);
    case TypeKind::Class:
      return accepts_user_type(type.name(), value);
    case TypeKind::Generator:
      return value.is_generator();
    case TypeKind::Storage:
      return value.is_storage();
    case TypeKind::Stream:
      return value.is_stream();
    case TypeKind::Capsule:
      return value.is_capsule();
    case TypeKind::AnyClass:
      return value.is_object();
    case TypeKind::AnyEnum:
      return value.is_enum();
    case TypeKind::Future:
      return accepts_future(type.element(), value);
    case TypeKind::RRef:
    case TypeKind::Await:
      return false;  // no kind of value exists for these yet
  }
  return false;
}

}  // namespace opyard
