// schema/print.cpp: printer of types and schemas.
//
// Everything is printed in source order. An alias set is directly behind the type it
// belongs to, so types and alias sets are walked together: `contained` of a set has one entry
// for each element of the type, and an optional has the sets of what is in it.
#include "schema/print.h"

#include "schema/base_types.h"

namespace opyard {
namespace detail {
namespace {

void print_set(std::string& out, const std::vector<std::string>& set) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (i > 0) out += '|';
    out += set[i];
  }
}

}  // namespace

void print_sets(std::string& out, const AliasInfo& alias) {
  if (!alias.has_sets()) return;
  if (alias.before.size() == 1 && alias.before.front().starts_with('$')) {
    out += '!';
    return;
  }
  out += '(';
  print_set(out, alias.before);
  if (alias.is_write) out += '!';
  if (alias.after != alias.before) {
    out += " -> ";
    print_set(out, alias.after);
  }
  out += ')';
}

void print_quoted(std::string& out, std::string_view text) { out += quoted_text(text); }

void print_default(std::string& out, const Value& value) {
  if (value.is_string()) {
    print_quoted(out, value.to_string_view());
  } else if (value.is_device()) {
    print_quoted(out, to_string(value.device_unchecked()));
  } else if (value.is_list()) {
    out += '[';
    const std::vector<Value>& items = value.items_unchecked();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += ", ";
      print_default(out, items[i]);
    }
    out += ']';
  } else {
    out += to_string(value);
  }
}

}  // namespace detail

namespace {

using detail::print_default;
using detail::print_quoted;
using detail::print_sets;

enum class NameStyle { Schema, Runtime };

void print_type(std::string& out, const Type& type, const AliasInfo* alias, NameStyle names);

void print_elements(std::string& out, const Type& type, const AliasInfo* alias, NameStyle names,
                    const char* opening) {
  out += opening;
  for (std::size_t i = 0; i < type.elements().size(); ++i) {
    if (i > 0) out += ", ";
    const bool has_sets = alias != nullptr && i < alias->contained.size();
    print_type(out, *type.elements()[i], has_sets ? &alias->contained[i] : nullptr, names);
  }
  out += ')';
}

void print_type(std::string& out, const Type& type, const AliasInfo* alias, NameStyle names) {
  switch (type.kind()) {
    case TypeKind::Optional:
      print_type(out, type.element(), alias, names);
      out += '?';
      return;
    case TypeKind::List: {
      const bool has_sets = alias != nullptr && !alias->contained.empty();
      print_type(out, type.element(), has_sets ? &alias->contained.front() : nullptr, names);
      out += '[';
      if (type.size_hint() != 0) out += std::to_string(type.size_hint());
      out += ']';
      break;
    }
    case TypeKind::Tuple:
      print_elements(out, type, alias, names, "(");
      break;
    case TypeKind::Dict:
      print_elements(out, type, alias, names, "Dict(");
      break;
    case TypeKind::Future:
      print_elements(out, type, alias, names, "Future(");
      break;
    case TypeKind::RRef:
      print_elements(out, type, alias, names, "RRef(");
      break;
    case TypeKind::Await:
      print_elements(out, type, alias, names, "Await(");
      break;
    case TypeKind::Union:
      print_elements(out, type, alias, names, "Union(");
      break;
    case TypeKind::Variable:
    case TypeKind::Class:
      out += type.name();
      break;
    default: {
      const detail::BaseEntry& entry = detail::base_entry(type.kind());
      out += names == NameStyle::Schema ? entry.text : entry.runtime_text;
      break;
    }
  }
  if (alias != nullptr) print_sets(out, *alias);
}

void print_argument(std::string& out, const Argument& argument) {
  print_type(out, *argument.type, argument.alias ? &*argument.alias : nullptr, NameStyle::Schema);
  if (!argument.name.empty()) {
    out += ' ';
    out += argument.name;
  }
  if (argument.default_value) {
    out += '=';
    print_default(out, *argument.default_value);
  }
}

void print_arguments(std::string& out, const Schema& schema) {
  out += '(';
  bool star = false;
  const char* separator = "";
  for (const Argument& argument : schema.arguments) {
    out += separator;
    separator = ", ";
    if (argument.keyword_only && !star) out += "*, ";
    star = star || argument.keyword_only;
    print_argument(out, argument);
  }
  if (schema.variadic_arguments) {
    out += separator;
    out += "...";
  }
  out += ')';
}

// One result is written without parentheses, unless it is a type that begins with one: those
// would be taken for the parentheses of several results.
void print_results(std::string& out, const Schema& schema) {
  if (schema.variadic_results) {
    out += "...";
    return;
  }
  std::string list;
  for (const Argument& result : schema.results) {
    if (!list.empty()) list += ", ";
    print_argument(list, result);
  }
  const bool bare = schema.results.size() == 1 && !list.starts_with('(');
  out += bare ? list : '(' + list + ')';
}

}  // namespace

std::string to_string(const Type& type) {
  std::string out;
  print_type(out, type, nullptr, NameStyle::Schema);
  return out;
}

std::string runtime_text(const Type& type) {
  std::string out;
  print_type(out, *runtime_type(type), nullptr, NameStyle::Runtime);
  return out;
}

std::string to_string(const Argument& argument) {
  std::string out;
  print_argument(out, argument);
  return out;
}

std::string to_string(const OperatorName& name) {
  return name.overload.empty() ? name.name : name.name + '.' + name.overload;
}

std::string to_string(const Schema& schema) {
  std::string out = to_string(schema.name);
  print_arguments(out, schema);
  out += " -> ";
  print_results(out, schema);
  return out;
}

}  // namespace opyard
