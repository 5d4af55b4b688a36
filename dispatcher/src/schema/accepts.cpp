// schema/accepts.cpp: type checks of values against schema types.
#include <algorithm>

#include "opyard/detail/value/dict_object.h"
#include "opyard/schema/future_type.h"
#include "opyard/schema/relations.h"
#include "schema/base_types.h"

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

// A future of such an element. If the future has no element type, its value is checked; before
// there is a value it is accepted, since its reader checks the value.
bool accepts_future(const Type& element, const Value& value) {
  if (!value.is_future()) return false;
  if (element.kind() == TypeKind::Any || element.kind() == TypeKind::Variable) return true;
  FutureObject& future = value.to_future();
  if (future.element() != nullptr) return is_subtype(*element_type(future), element);
  return !future.has_value() || accepts(element, future.value());
}

}  // namespace

bool accepts(const Type& type, const Value& value) {
  if (detail::is_base(type.kind())) {
    return (detail::base_entry(type.kind()).kinds & detail::set_of(value.kind())) != 0;
  }
  switch (type.kind()) {
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
    case TypeKind::Future:
      return accepts_future(type.element(), value);
    case TypeKind::Variable:
      return true;
    default:
      return false;  // no kind of value exists for RRef and Await
  }
}

// The part of it that a call can do with one bit test.
std::uint64_t accepted_kinds(const Type& type) {
  using namespace detail;
  if (is_base(type.kind())) return base_entry(type.kind()).kinds;
  switch (type.kind()) {
    case TypeKind::Variable:
      return kind_set::All;
    case TypeKind::Optional:
      return kind_set::None | accepted_kinds(type.element());
    case TypeKind::Future:
      return accepted_kinds(type.element()) == kind_set::All ? set_of(Kind::Future) : 0;
    default:
      return 0;
  }
}

}  // namespace opyard
