// schema/type.cpp: types: construction, comparison, and the type a kernel sees.
#include "opyard/schema/type.h"

#include <algorithm>
#include <array>
#include <compare>

#include "schema/base_types.h"

namespace opyard {
namespace {

using detail::is_base;
using detail::kBaseTypeCount;
using detail::runtime_kind;

using BaseTypes = std::array<TypePtr, kBaseTypeCount>;

// Made once and leaked, so that types may be used by static destructors.
const BaseTypes& base_types() {
  static const BaseTypes& types = *[] {
    auto* made = new BaseTypes;
    for (int i = 0; i < kBaseTypeCount; ++i) {
      (*made)[std::size_t(i)] =
          make_counted<const Type>(TypeKind(i), std::vector<TypePtr>{}, std::string{}, 0);
    }
    return made;
  }();
  return types;
}

bool is_symbolic(TypeKind kind) {
  return kind == TypeKind::SymInt || kind == TypeKind::SymFloat || kind == TypeKind::SymBool;
}

// A total order of types, in which the members of a union are listed: base types as in types.def,
// then compound ones by kind, name, size hint and elements.
std::strong_ordering order_types(const Type& a, const Type& b) {
  if (&a == &b) return std::strong_ordering::equal;
  if (const auto order = a.kind() <=> b.kind(); order != 0) return order;
  if (const auto order = a.name() <=> b.name(); order != 0) return order;
  if (const auto order = a.size_hint() <=> b.size_hint(); order != 0) return order;
  return std::lexicographical_compare_three_way(
      a.elements().begin(), a.elements().end(), b.elements().begin(), b.elements().end(),
      [](const TypePtr& x, const TypePtr& y) { return order_types(*x, *y); });
}

std::vector<TypePtr> union_members(std::vector<TypePtr> given) {
  std::vector<TypePtr> members;
  for (TypePtr& type : given) {
    if (type->kind() == TypeKind::Union) {
      members.insert(members.end(), type->elements().begin(), type->elements().end());
    } else {
      members.push_back(std::move(type));
    }
  }
  std::sort(members.begin(), members.end(),
            [](const TypePtr& a, const TypePtr& b) { return order_types(*a, *b) < 0; });
  const auto same = [](const TypePtr& a, const TypePtr& b) { return equal(*a, *b); };
  members.erase(std::unique(members.begin(), members.end(), same), members.end());
  return members;
}

bool right_number(TypeKind kind, std::size_t count) {
  switch (kind) {
    case TypeKind::Tuple:
      return count >= 1;
    case TypeKind::Union:
      return count >= 2;
    case TypeKind::Dict:
      return count == 2;
    case TypeKind::Future:
    case TypeKind::RRef:
    case TypeKind::Await:
      return count == 1;
    default:
      return false;
  }
}

}  // namespace

TypePtr base_type(TypeKind kind) {
  OPYARD_CHECK(is_base(kind), Internal, "base_type() was asked for a compound type");
  return base_types()[std::size_t(kind)];
}

TypePtr list_of(TypePtr element, std::int64_t size_hint) {
  return make_counted<const Type>(TypeKind::List, std::vector<TypePtr>{std::move(element)},
                                  std::string{}, size_hint);
}

TypePtr optional_of(TypePtr element) {
  if (element->kind() == TypeKind::Optional) return element;
  return make_counted<const Type>(TypeKind::Optional, std::vector<TypePtr>{std::move(element)},
                                  std::string{}, 0);
}

TypePtr compound_type(TypeKind kind, std::vector<TypePtr> elements) {
  if (kind == TypeKind::Union) elements = union_members(std::move(elements));
  OPYARD_CHECK(right_number(kind, elements.size()), Internal,
               "compound_type() was called with a wrong kind or number of elements");
  return make_counted<const Type>(kind, std::move(elements), std::string{}, 0);
}

TypePtr named_type(TypeKind kind, std::string name) {
  OPYARD_CHECK(kind == TypeKind::Variable || kind == TypeKind::Class, Internal,
               "named_type() makes type variables and classes only");
  return make_counted<const Type>(kind, std::vector<TypePtr>{}, std::move(name), 0);
}

bool equal(const Type& a, const Type& b) { return order_types(a, b) == 0; }

TypePtr runtime_type(const Type& type, Symbolic symbolic) {
  if (is_symbolic(type.kind()) && symbolic == Symbolic::AsSymbolic) return TypePtr::share(&type);
  if (is_base(type.kind())) return base_type(runtime_kind(type.kind()));
  if (type.elements().empty()) return TypePtr::share(&type);
  std::vector<TypePtr> elements;
  for (const TypePtr& element : type.elements()) {
    elements.push_back(runtime_type(*element, symbolic));
  }
  if (type.kind() == TypeKind::List) return list_of(std::move(elements.front()));
  if (type.kind() == TypeKind::Optional) return optional_of(std::move(elements.front()));
  if (type.kind() == TypeKind::Union) {
    elements = union_members(std::move(elements));
    if (elements.size() == 1) return elements.front();  // Union(int, SymInt) is int
  }
  return compound_type(type.kind(), std::move(elements));
}

bool carries_keys(const Type& type) {
  const Type* inner = &type;
  if (inner->kind() == TypeKind::Optional) inner = &inner->element();
  if (inner->kind() == TypeKind::Generator) return true;
  if (inner->kind() == TypeKind::List) inner = &inner->element();
  if (inner->kind() == TypeKind::Optional) inner = &inner->element();
  return inner->kind() == TypeKind::Tensor;
}

}  // namespace opyard
