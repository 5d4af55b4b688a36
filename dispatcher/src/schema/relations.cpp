// schema/relations.cpp: questions to the alias sets of a schema.
#include "opyard/schema/relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace opyard {
namespace {

using Sets = std::unordered_set<std::string_view>;

void collect_sets(const AliasInfo& alias, Sets& sets) {
  sets.insert(alias.after.begin(), alias.after.end());
  for (const AliasInfo& inner : alias.contained) collect_sets(inner, sets);
}

Sets own_sets(const Argument& argument) {
  if (!argument.alias) return {};
  return Sets(argument.alias->after.begin(), argument.alias->after.end());
}

Sets all_sets(const Argument& argument) {
  Sets sets;
  if (argument.alias) collect_sets(*argument.alias, sets);
  return sets;
}

bool intersect(const Sets& a, const Sets& b) {
  return std::any_of(a.begin(), a.end(), [&](std::string_view set) { return b.contains(set); });
}

// Values of the type are objects that can have two owners, not plain numbers and texts.
bool is_shared(const Type& type) {
  switch (type.kind()) {
    case TypeKind::Int:
    case TypeKind::Float:
    case TypeKind::Bool:
    case TypeKind::Complex:
    case TypeKind::Str:
    case TypeKind::Scalar:
    case TypeKind::SymInt:
    case TypeKind::SymFloat:
    case TypeKind::SymBool:
    case TypeKind::Device:
    case TypeKind::DeviceIndex:
    case TypeKind::ScalarType:
    case TypeKind::Layout:
    case TypeKind::MemoryFormat:
    case TypeKind::QScheme:
    case TypeKind::Dimname:
    case TypeKind::AnyEnum:
    case TypeKind::None:
      return false;
    default:
      return true;
  }
}

// The types that a value of this type can have, an optional and a union taken apart.
void collect_types(const Type& type, std::vector<const Type*>& types) {
  if (type.kind() == TypeKind::Optional || type.kind() == TypeKind::Union) {
    for (const TypePtr& element : type.elements()) collect_types(*element, types);
  } else {
    types.push_back(&type);
  }
}

bool is_anything(const Type& type) {
  return type.kind() == TypeKind::Any || type.kind() == TypeKind::Variable;
}

bool can_be_one_object(const Type& a, const Type& b) {
  std::vector<const Type*> left;
  std::vector<const Type*> right;
  collect_types(a, left);
  collect_types(b, right);
  for (const Type* x : left) {
    for (const Type* y : right) {
      if (!is_shared(*x) || !is_shared(*y)) continue;
      if (x->kind() == y->kind() || is_anything(*x) || is_anything(*y)) return true;
    }
  }
  return false;
}

}  // namespace

const Argument& at(const Schema& schema, Place place) {
  const bool argument = place.side == Side::Argument;
  const std::vector<Argument>& list = argument ? schema.arguments : schema.results;
  if (place.index >= list.size()) {
    fail(ErrorKind::BadIndex,
         fmt::format("{} has {} {}s; there is none at position {}", to_string(schema.name),
                     list.size(), argument ? "argument" : "result", place.index));
  }
  return list[place.index];
}

bool is_mutable(const Schema& schema, Place place) { return at(schema, place).is_write(); }

bool is_aliasing(const Schema& schema, Place place) { return at(schema, place).alias.has_value(); }

bool may_alias(const Schema& schema, Place a, Place b) {
  const Argument& left = at(schema, a);
  const Argument& right = at(schema, b);
  return can_be_one_object(*left.type, *right.type) && intersect(own_sets(left), own_sets(right));
}

bool may_contain_alias(const Schema& schema, Place a, Place b) {
  return intersect(all_sets(at(schema, a)), all_sets(at(schema, b)));
}

bool has_alias_sets(const Schema& schema) {
  const auto has = [](const Argument& argument) { return argument.alias.has_value(); };
  return std::any_of(schema.arguments.begin(), schema.arguments.end(), has) ||
         std::any_of(schema.results.begin(), schema.results.end(), has);
}

std::size_t out_argument_count(const Schema& schema) {
  return std::size_t(std::count_if(schema.arguments.begin(), schema.arguments.end(),
                                   [](const Argument& argument) { return argument.is_out(); }));
}

bool is_functional(const Schema& schema) {
  if (schema.results.empty() || schema.is_mutable()) return false;
  Sets given_back;
  for (const Argument& result : schema.results) {
    if (result.alias) collect_sets(*result.alias, given_back);
  }
  return std::none_of(
      schema.arguments.begin(), schema.arguments.end(),
      [&](const Argument& argument) { return intersect(all_sets(argument), given_back); });
}

}  // namespace opyard
