// schema/accepts.cpp: whether a value may stand for an argument of a type.
#include <algorithm>

#include "opyard/schema/type.h"

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

}  // namespace

bool accepts(const Type& type, const Value& value) {
  switch (type.kind()) {
    case TypeKind::Tensor:
      return value.is_tensor() || value.is_none();
    case TypeKind::Int:
    case TypeKind::SymInt:
    case TypeKind::DeviceIndex:
    case TypeKind::ScalarType:
    case TypeKind::Layout:
    case TypeKind::MemoryFormat:
    case TypeKind::QScheme:
      return value.is_int();
    case TypeKind::Float:
    case TypeKind::SymFloat:
      return value.is_double();
    case TypeKind::Bool:
    case TypeKind::SymBool:
      return value.is_bool();
    case TypeKind::Scalar:
      return value.is_int() || value.is_double() || value.is_bool();
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
    case TypeKind::Complex:
    case TypeKind::Generator:
    case TypeKind::Storage:
    case TypeKind::Stream:
    case TypeKind::AnyClass:
    case TypeKind::AnyEnum:
    case TypeKind::Capsule:
    case TypeKind::Dict:
    case TypeKind::Future:
    case TypeKind::RRef:
    case TypeKind::Await:
    case TypeKind::Class:
      return false;  // no kind of value exists for these yet
  }
  return false;
}

}  // namespace opyard
