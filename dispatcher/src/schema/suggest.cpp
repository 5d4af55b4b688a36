// schema/suggest.cpp: suggestions for wrong default values.
#include "schema/suggest.h"

#include <fmt/format.h>

#include <algorithm>

#include "schema/base_types.h"
#include "schema/print.h"

namespace opyard::detail {
namespace {

bool is_literal_of(const Literal& literal, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return literal.is_name(name); });
}

// Digits with a point and nothing but zeros behind it.
std::optional<std::string> whole_number(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos || point == 0) return std::nullopt;
  if (text.find_first_not_of('0', point + 1) != std::string_view::npos) return std::nullopt;
  return std::string(text.substr(0, point));
}

std::optional<std::string> better_bool(const Literal& literal) {
  if (literal.list || literal.negative) return std::nullopt;
  if (literal.token.text == "1" || is_literal_of(literal, {"true", "TRUE"})) return "True";
  if (literal.token.text == "0" || is_literal_of(literal, {"false", "FALSE"})) return "False";
  return std::nullopt;
}

std::optional<std::string> better_float(const Literal& literal) {
  if (literal.list || literal.token.kind != TokenKind::Name) return std::nullopt;
  const char* const sign = literal.negative ? "-" : "";
  for (const char* name : {"Inf", "INF", "infinity", "Infinity"}) {
    if (literal.token.text == name) return fmt::format("{}inf", sign);
  }
  if (is_literal_of(literal, {"NaN", "NAN", "Nan"})) return "nan";
  return std::nullopt;
}

std::optional<std::string> better_device(const Literal& literal) {
  if (literal.list || literal.negative || literal.token.kind != TokenKind::Name) {
    return std::nullopt;
  }
  try {
    parse_device(literal.token.text);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::BadValue) throw;
    return std::nullopt;
  }
  return fmt::format("\"{}\"", literal.token.text);
}

}  // namespace

std::string in_double_quotes(std::string_view text) {
  std::string out;
  print_quoted(out, text);
  return out;
}

// What a default value of the type looks like, for the message; empty if there is none.
std::string advice_for(const Type& type) {
  switch (type.kind()) {
    case TypeKind::Int:
    case TypeKind::SymInt:
    case TypeKind::DeviceIndex:
    case TypeKind::QScheme:
      return "a whole number such as 1";
    case TypeKind::ScalarType:
      return "a dtype such as float or int64, or its number";
    case TypeKind::Layout:
      return "strided or sparse, or a number";
    case TypeKind::MemoryFormat:
      return "contiguous_format, preserve_format or channels_last, or a number";
    case TypeKind::Float:
    case TypeKind::SymFloat:
      return "a number such as 1.0, inf or nan";
    case TypeKind::Complex:
      return "a number such as 2j, 1.0-2j or 1.0";
    case TypeKind::Bool:
    case TypeKind::SymBool:
      return "True or False";
    case TypeKind::Scalar:
      return "a number such as 1, 1.0 or 2j, True or False";
    case TypeKind::Str:
    case TypeKind::Dimname:
      return "a text in double quotes";
    case TypeKind::Device:
      return "a device such as \"cpu\" or \"cuda:0\"";
    case TypeKind::None:
      return "None";
    case TypeKind::Any:
    case TypeKind::Union:
      return "None, a number or a text";
    case TypeKind::List: {
      const std::string element = advice_for(type.element());
      if (element.empty()) return "an empty list, []";
      return fmt::format("a list in brackets, each element {}{}", element,
                         type.size_hint() == 0 ? "; one value alone fills a list only where the "
                                                 "type gives its size, as in int[3]"
                                               : "");
    }
    default:
      return "";
  }
}

std::optional<std::string> better_text(const SchemaCursor& cursor, const Type& type,
                                       const Literal& literal) {
  switch (runtime_kind(type.kind())) {
    case TypeKind::Optional:
      if (is_literal_of(literal, {"none", "null", "nullopt", "nullptr"})) return "None";
      return better_text(cursor, type.element(), literal);
    case TypeKind::Int:
      return literal.is_number() ? whole_number(cursor.text(literal.span)) : std::nullopt;
    case TypeKind::Float:
      return better_float(literal);
    case TypeKind::Bool:
      return better_bool(literal);
    case TypeKind::Scalar:
      if (literal.token.kind == TokenKind::Integer) return std::nullopt;
      if (auto better = better_bool(literal)) return better;
      return better_float(literal);
    case TypeKind::Str:
      if (literal.list || literal.negative || literal.token.kind != TokenKind::Name ||
          literal.is_name("None")) {
        return std::nullopt;
      }
      return in_double_quotes(literal.token.text);
    case TypeKind::Device:
      return better_device(literal);
    default:
      return std::nullopt;
  }
}

}  // namespace opyard::detail
