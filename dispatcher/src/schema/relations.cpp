// schema/relations.cpp: queries of a schema's alias sets.
#include "opyard/schema/relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "schema/alias_sets.h"
#include "schema/sharing.h"

namespace opyard {
namespace {

using detail::AliasSets;
using detail::collect_sets;

using detail::can_be_one_object;
AliasSets own_sets(const Argument& argument) {
  if (!argument.alias) return {};
  return AliasSets(argument.alias->after.begin(), argument.alias->after.end());
}

AliasSets all_sets(const Argument& argument) {
  AliasSets sets;
  if (argument.alias) collect_sets(*argument.alias, sets);
  return sets;
}

// A value that is an argument or result, or somewhere inside it.
struct RelatedPart {
  const Type* type;
  AliasSets sets;  // when the call ends
};

// What is inside a value, at any depth. What is there without a set of its own is in the
// wildcard set: the schema promises nothing for it.
void collect_inside(const Type& type, const AliasInfo* alias, std::vector<RelatedPart>& parts) {
  if (type.kind() == TypeKind::Optional) return collect_inside(type.element(), alias, parts);
  if (type.kind() == TypeKind::Union) return;  // its sets are those of the whole
  for (std::size_t i = 0; i < type.elements().size(); ++i) {
    const Type& element = *type.elements()[i];
    const bool has_alias = alias != nullptr && i < alias->contained.size();
    const AliasInfo* inner = has_alias ? &alias->contained[i] : nullptr;
    RelatedPart part{&element, {"*"}};
    if (inner != nullptr && inner->has_sets()) {
      part.sets = AliasSets(inner->after.begin(), inner->after.end());
    }
    parts.push_back(std::move(part));
    collect_inside(element, inner, parts);
  }
}

std::vector<RelatedPart> inside(const Argument& argument) {
  std::vector<RelatedPart> parts;
  collect_inside(*argument.type, argument.alias ? &*argument.alias : nullptr, parts);
  return parts;
}

bool intersect(const AliasSets& a, const AliasSets& b) {
  return std::any_of(a.begin(), a.end(), [&](std::string_view set) { return b.contains(set); });
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

bool may_contain(const Schema& schema, Place container, Place content) {
  const Argument& outer = at(schema, container);
  const Argument& inner = at(schema, content);
  std::vector<RelatedPart> candidates = inside(inner);
  candidates.push_back({inner.type.get(), own_sets(inner)});
  const std::vector<RelatedPart> held = inside(outer);
  return std::any_of(held.begin(), held.end(), [&](const RelatedPart& part) {
    return std::any_of(candidates.begin(), candidates.end(), [&](const RelatedPart& candidate) {
      return intersect(part.sets, candidate.sets) && can_be_one_object(*part.type, *candidate.type);
    });
  });
}

bool may_contain_alias(const Schema& schema, Place a, Place b) {
  return may_alias(schema, a, b) || may_contain(schema, a, b) || may_contain(schema, b, a);
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
  AliasSets given_back;
  for (const Argument& result : schema.results) {
    if (result.alias) collect_sets(*result.alias, given_back);
  }
  return std::none_of(
      schema.arguments.begin(), schema.arguments.end(),
      [&](const Argument& argument) { return intersect(all_sets(argument), given_back); });
}

}  // namespace opyard
