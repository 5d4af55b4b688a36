// schema/schema.cpp: queries of schemas, and differences between two.
#include "opyard/schema/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "schema/alias_sets.h"

namespace opyard {
namespace {

using detail::AliasSets;
using detail::collect_sets;

bool writes(const AliasInfo& alias) {
  return alias.is_write || std::any_of(alias.contained.begin(), alias.contained.end(), writes);
}

bool has_one_of(const AliasInfo& alias, const AliasSets& sets) {
  return std::any_of(alias.after.begin(), alias.after.end(),
                     [&](const std::string& set) { return sets.contains(set); }) ||
         std::any_of(alias.contained.begin(), alias.contained.end(),
                     [&](const AliasInfo& inner) { return has_one_of(inner, sets); });
}

// Defaults are compared as they are written: NaN is NaN, and 0. is not -0.
bool same_default_value(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is_double()) return a.identical(b);
  if (!a.is_list() && !a.is_tuple()) return a == b;
  const std::vector<Value>& x = a.items_unchecked();
  const std::vector<Value>& y = b.items_unchecked();
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), same_default_value);
}

std::optional<std::string> difference(const char* what, const std::vector<Argument>& a,
                                      const std::vector<Argument>& b) {
  if (a.size() != b.size()) {
    return fmt::format("The number of {}s is different. {} vs {}.", what, a.size(), b.size());
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!equal(*runtime_type(*a[i].type), *runtime_type(*b[i].type))) {
      return fmt::format("Type mismatch in {} {}: {} vs {}", what, i + 1, runtime_text(*a[i].type),
                         runtime_text(*b[i].type));
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view OperatorName::name_space() const {
  const std::size_t colons = name.find("::");
  return colons == std::string::npos ? std::string_view()
                                     : std::string_view(name).substr(0, colons);
}

std::string_view OperatorName::base_name() const {
  const std::size_t colons = name.find("::");
  return colons == std::string::npos ? std::string_view(name)
                                     : std::string_view(name).substr(colons + 2);
}

bool Argument::is_write() const { return alias && writes(*alias); }

bool Argument::operator==(const Argument& other) const {
  if (default_value.has_value() != other.default_value.has_value()) return false;
  if (default_value && !same_default_value(*default_value, *other.default_value)) return false;
  return name == other.name && equal(*type, *other.type) && keyword_only == other.keyword_only &&
         alias == other.alias;
}

bool Schema::is_mutable() const {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const Argument& argument) { return argument.is_write(); });
}

bool Schema::is_view() const {
  AliasSets given_back;
  for (const Argument& result : results) {
    if (result.alias) collect_sets(*result.alias, given_back);
  }
  return std::any_of(arguments.begin(), arguments.end(), [&](const Argument& argument) {
    return argument.alias && !argument.is_write() && has_one_of(*argument.alias, given_back);
  });
}

std::optional<std::size_t> Schema::find_argument(std::string_view argument) const {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name == argument) return i;
  }
  return std::nullopt;
}

bool Schema::operator==(const Schema& other) const {
  return name == other.name && arguments == other.arguments && results == other.results &&
         variadic_arguments == other.variadic_arguments &&
         variadic_results == other.variadic_results;
}

Schema with_runtime_types(Schema schema, Symbolic symbolic) {
  for (Argument& argument : schema.arguments)
    argument.type = runtime_type(*argument.type, symbolic);
  for (Argument& result : schema.results) result.type = runtime_type(*result.type, symbolic);
  return schema;
}

std::optional<std::string> find_difference(const Schema& a, const Schema& b) {
  if (auto found = difference("argument", a.arguments, b.arguments)) return found;
  if (auto found = difference("return", a.results, b.results)) return found;
  if (a.variadic_arguments != b.variadic_arguments) {
    return fmt::format("{} takes further arguments ('...') and the other does not.",
                       a.variadic_arguments ? "The first" : "The second");
  }
  if (a.variadic_results != b.variadic_results) {
    return fmt::format("{} has any number of results ('...') and the other does not.",
                       a.variadic_results ? "The first" : "The second");
  }
  return std::nullopt;
}

}  // namespace opyard
