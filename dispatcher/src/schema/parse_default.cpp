// schema/parse_default.cpp: default values.
//
// Overview: a value is first read as it is written (a Literal), whatever the type, and then
// fitted to the type of its argument. So every mismatch has the place of the literal, and
// `int[3] x=1` is an ordinary case: a literal that is no list, fitted to a sized list, is
// repeated.
#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "schema/literal.h"

namespace opyard::detail {
namespace {

class Fitter {
 public:
  explicit Fitter(Cursor& cursor) : cursor_(cursor) {}

  // The literal as a value of the type, or nothing where it does not fit. Raises BadSchema
  // where it would fit but for its size.
  std::optional<Value> fit(const Type& type, const Literal& literal) const;
  [[noreturn]] void refuse(const Type& type, const Literal& literal) const;

 private:
  std::optional<Value> fit_int(const Type& type, const Literal& literal) const;
  std::optional<Value> fit_float(const Literal& literal) const;
  std::optional<Value> fit_bool(const Literal& literal) const;
  std::optional<Value> fit_scalar(const Literal& literal) const;
  std::optional<Value> fit_text(const Literal& literal) const;
  std::optional<Value> fit_device(const Literal& literal) const;
  std::optional<Value> fit_list(const Type& type, const Literal& literal) const;
  std::optional<Value> fit_union(const Type& type, const Literal& literal) const;
  std::optional<Value> fit_any(const Literal& literal) const;

  std::string_view text(const Literal& literal) const {
    return cursor_.source().text().substr(literal.begin, literal.end - literal.begin);
  }
  template <typename Number>
  Number read(const Literal& literal, const char* what) const;

  Cursor& cursor_;
};

// Reads the digits with their sign, so that the least int64 is read like any other.
template <typename Number>
Number Fitter::read(const Literal& literal, const char* what) const {
  const std::string digits = fmt::format("{}{}", literal.negative ? "-" : "", literal.token.text);
  Number number{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    cursor_.source().fail_at(
        literal.begin, fmt::format("{} does not fit into {} of 64 bits", shown(digits), what));
  }
  return number;
}

std::optional<Value> Fitter::fit_int(const Type& type, const Literal& literal) const {
  if (literal.is_number() && literal.token.kind == TokenKind::Integer) {
    return Value(read<std::int64_t>(literal, "an int"));
  }
  if (literal.list || literal.negative || literal.token.kind != TokenKind::Name) {
    return std::nullopt;
  }
  const auto number = find_constant(type.kind(), literal.token.text);
  return number ? std::optional<Value>(Value(*number)) : std::nullopt;
}

std::optional<Value> Fitter::fit_float(const Literal& literal) const {
  if (literal.is_number()) return Value(read<double>(literal, "a float"));
  if (literal.list) return std::nullopt;
  const double infinity = std::numeric_limits<double>::infinity();
  if (literal.token.is_name("inf")) return Value(literal.negative ? -infinity : infinity);
  if (literal.is_name("nan")) return Value(std::numeric_limits<double>::quiet_NaN());
  return std::nullopt;
}

std::optional<Value> Fitter::fit_bool(const Literal& literal) const {
  if (literal.is_name("True")) return Value(true);
  if (literal.is_name("False")) return Value(false);
  return std::nullopt;
}

std::optional<Value> Fitter::fit_scalar(const Literal& literal) const {
  if (auto value = fit_bool(literal)) return value;
  if (literal.is_number() && literal.token.kind == TokenKind::Integer) {
    return Value(read<std::int64_t>(literal, "an int"));
  }
  return fit_float(literal);
}

std::optional<Value> Fitter::fit_text(const Literal& literal) const {
  if (literal.list || literal.negative || literal.token.kind != TokenKind::Text) {
    return std::nullopt;
  }
  return Value(std::string_view(unquote(cursor_.source(), literal.token)));
}

std::optional<Value> Fitter::fit_device(const Literal& literal) const {
  if (literal.is_name("cpu")) return Value(Device{});
  const std::optional<Value> name = fit_text(literal);
  if (!name) return std::nullopt;
  try {
    return Value(parse_device(name->to_string_view()));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::BadValue) throw;
    cursor_.source().fail_at(literal.begin, error.what());
  }
}

std::optional<Value> Fitter::fit_list(const Type& type, const Literal& literal) const {
  std::vector<Value> items;
  if (literal.list) {
    for (const Literal& item : literal.items) {
      std::optional<Value> value = fit(type.element(), item);
      if (!value) refuse(type.element(), item);
      items.push_back(std::move(*value));
    }
    return Value::list(std::move(items));
  }
  if (type.size_hint() == 0) return std::nullopt;
  const std::optional<Value> value = fit(type.element(), literal);
  // A repeated list would print as more than its text justifies.
  if (!value || value->is_none() || value->is_list()) return std::nullopt;
  const std::size_t limit = cursor_.limits().arguments;
  if (std::uint64_t(type.size_hint()) > limit) {
    cursor_.source().fail_at(
        literal.begin, fmt::format("one default value is not repeated {} times; the limit is {}",
                                   type.size_hint(), limit));
  }
  for (std::int64_t i = 0; i < type.size_hint(); ++i) cursor_.count_node();
  items.assign(std::size_t(type.size_hint()), *value);
  return Value::list(std::move(items));
}

// The first member that the literal fits, in the canonical order.
std::optional<Value> Fitter::fit_union(const Type& type, const Literal& literal) const {
  for (const TypePtr& member : type.elements()) {
    // A list with an element that does not fit is an error of its own, so only a list that
    // is the one candidate may be tried here.
    if (literal.list && member->kind() != TypeKind::List) continue;
    if (auto value = fit(*member, literal)) return value;
  }
  return std::nullopt;
}

std::optional<Value> Fitter::fit_any(const Literal& literal) const {
  if (literal.is_name("None")) return Value();
  if (auto value = fit_text(literal)) return value;
  return fit_scalar(literal);
}

std::optional<Value> Fitter::fit(const Type& type, const Literal& literal) const {
  switch (type.kind()) {
    case TypeKind::Int:
    case TypeKind::SymInt:
    case TypeKind::DeviceIndex:
    case TypeKind::ScalarType:
    case TypeKind::Layout:
    case TypeKind::MemoryFormat:
    case TypeKind::QScheme:
      return fit_int(type, literal);
    case TypeKind::Float:
    case TypeKind::SymFloat:
      return fit_float(literal);
    case TypeKind::Bool:
    case TypeKind::SymBool:
      return fit_bool(literal);
    case TypeKind::Scalar:
      return fit_scalar(literal);
    case TypeKind::Str:
    case TypeKind::Dimname:
      return fit_text(literal);
    case TypeKind::Device:
      return fit_device(literal);
    case TypeKind::Any:
      return fit_any(literal);
    case TypeKind::None:
      return literal.is_name("None") ? std::optional<Value>(Value()) : std::nullopt;
    case TypeKind::Optional:
      if (literal.is_name("None")) return Value();
      return fit(type.element(), literal);
    case TypeKind::List:
      return fit_list(type, literal);
    case TypeKind::Union:
      return fit_union(type, literal);
    default:
      return std::nullopt;
  }
}

// What a default value of the type looks like, for the message; empty where there is none.
std::string advice(const Type& type) {
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
    case TypeKind::Bool:
    case TypeKind::SymBool:
      return "True or False";
    case TypeKind::Scalar:
      return "a number such as 1 or 1.0, True or False";
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
      const std::string element = advice(type.element());
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

void Fitter::refuse(const Type& type, const Literal& literal) const {
  if (!literal.list && literal.token.kind == TokenKind::Complex) {
    cursor_.source().fail_at(literal.begin, "complex default values are not supported yet");
  }
  const bool optional = type.kind() == TypeKind::Optional;
  const Type& inner = optional ? type.element() : type;
  if (inner.kind() == TypeKind::Complex) {
    cursor_.source().fail_at(literal.begin,
                             "default values of type 'complex' are not supported yet; only None "
                             "for a 'complex?' is");
  }
  std::string accepted = advice(inner);
  if (optional) accepted = accepted.empty() ? "None" : fmt::format("None, or {}", accepted);
  accepted = accepted.empty() ? "write none, or make the type optional with '?' and write None"
                              : fmt::format("write {}", accepted);
  cursor_.source().fail_at(literal.begin,
                           fmt::format("default value {} does not fit type '{}'; {}",
                                       shown(text(literal)), shown(to_string(type)), accepted));
}

}  // namespace

Value parse_default(Cursor& cursor, const Type& type) {
  const Literal literal = parse_literal(cursor);
  const Fitter fitter(cursor);
  std::optional<Value> value = fitter.fit(type, literal);
  if (!value) fitter.refuse(type, literal);
  return std::move(*value);
}

}  // namespace opyard::detail
