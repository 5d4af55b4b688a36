// schema/type_of.cpp: type inference for values.
//
// A container is looked at once, even if many others hold it; while it is being looked at
// its type is Any. So containers that hold each other or share their elements take no longer than
// others. (Any is also what is below kDepth, if it is reached first.)
#include "opyard/schema/type_of.h"

#include <unordered_map>

#include "opyard/detail/value/dict_object.h"
#include "opyard/schema/future_type.h"

namespace opyard {
namespace {

constexpr int kTypeDepth = 16;

// The type of elements, seen one after another.
class CommonType {
 public:
  void add(TypePtr type) {
    if (type->kind() == TypeKind::None) {
      none_ = true;
    } else if (!type_) {
      type_ = std::move(type);
    } else if (!equal(*type_, *type)) {
      type_ = base_type(TypeKind::Any);
    }
  }
  TypePtr take() && {
    if (!type_) return base_type(none_ ? TypeKind::None : TypeKind::Any);
    return none_ && type_->kind() != TypeKind::Any ? optional_of(std::move(type_)) : type_;
  }

 private:
  TypePtr type_;
  bool none_ = false;
};

class TypeFinder {
 public:
  TypePtr find(const Value& value) {
    switch (value.kind()) {
      case Kind::None:
        return base_type(TypeKind::None);
      case Kind::Bool:
        return base_type(TypeKind::Bool);
      case Kind::Int:
        return base_type(TypeKind::Int);
      case Kind::Double:
        return base_type(TypeKind::Float);
      case Kind::SymInt:
        return base_type(TypeKind::SymInt);
      case Kind::SymFloat:
        return base_type(TypeKind::SymFloat);
      case Kind::SymBool:
        return base_type(TypeKind::SymBool);
      case Kind::Complex:
        return base_type(TypeKind::Complex);
      case Kind::String:
        return base_type(TypeKind::Str);
      case Kind::Device:
        return base_type(TypeKind::Device);
      case Kind::Stream:
        return base_type(TypeKind::Stream);
      case Kind::Tensor:
        return base_type(TypeKind::Tensor);
      case Kind::Storage:
        return base_type(TypeKind::Storage);
      case Kind::Generator:
        return base_type(TypeKind::Generator);
      case Kind::Capsule:
        return base_type(TypeKind::Capsule);
      case Kind::Enum:
        return type_of(*value.to_enum().type);
      case Kind::Object:
        return type_of(value.to_object().type());
      case Kind::List:
      case Kind::Tuple:
      case Kind::Dict:
      case Kind::Future:
        return find_container(value);
      case Kind::PyObject:
        break;
    }
    return base_type(TypeKind::Any);
  }

 private:
  TypePtr find_container(const Value& value) {
    if (depth_ == kTypeDepth) return base_type(TypeKind::Any);
    const Counted* const object = value.object_unchecked();
    const auto [known, fresh] = known_.try_emplace(object, base_type(TypeKind::Any));
    if (!fresh) return known->second;
    ++depth_;
    TypePtr type = value.is_dict()     ? of_dict(value.to_dict())
                   : value.is_future() ? of_future(value.to_future())
                   : value.is_tuple()  ? of_tuple(value.items_unchecked())
                                       : of_list(value.items_unchecked());
    --depth_;
    return known_[object] = std::move(type);
  }

  TypePtr of_future(FutureObject& future) {
    const bool look = future.element() == nullptr && future.has_value();
    return compound_type(TypeKind::Future, {look ? find(future.value()) : element_type(future)});
  }

  TypePtr of_list(const std::vector<Value>& items) {
    CommonType common;
    for (const Value& item : items) common.add(find(item));
    return list_of(std::move(common).take());
  }

  TypePtr of_tuple(const std::vector<Value>& items) {
    if (items.empty()) return base_type(TypeKind::Any);
    std::vector<TypePtr> types;
    types.reserve(items.size());
    for (const Value& item : items) types.push_back(find(item));
    return compound_type(TypeKind::Tuple, std::move(types));
  }

  TypePtr of_dict(const DictObject& dict) {
    CommonType keys, values;
    for (std::size_t at = dict.next(0); at != DictObject::kEnd; at = dict.next(at + 1)) {
      keys.add(find(dict.key_at(at)));
      values.add(find(dict.value_at(at)));
    }
    return compound_type(TypeKind::Dict, {std::move(keys).take(), std::move(values).take()});
  }

  std::unordered_map<const Counted*, TypePtr> known_;
  int depth_ = 0;
};

}  // namespace

TypePtr type_of(const Value& value) { return TypeFinder().find(value); }

TypePtr type_of(const UserType& type) { return named_type(TypeKind::Class, type.name()); }

}  // namespace opyard
