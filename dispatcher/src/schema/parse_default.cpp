// schema/parse_default.cpp: schema parser: default values.
//
// Overview: a value is first read as it is written (a Literal), whatever the type, and then
// fitted to the type of its argument. So every mismatch has the place of the literal, and
// `int[3] x=1` is an ordinary case: a literal that is no list, fitted to a sized list, is
// repeated.
//
// Fitting only tries: a union tries its members in turn. If none fits, the last obstacle, if there
// was one, says more than "does not fit": a number that is too large, an element of a list.
#include <fmt/format.h>

#include <limits>

#include "opyard/detail/text/literal.h"
#include "schema/base_types.h"
#include "schema/constants.h"
#include "schema/schema_cursor.h"
#include "schema/suggest.h"

namespace opyard::detail {
namespace {

struct Obstacle {
  Span span;
  std::string message;
  std::optional<SchemaFix> fix = std::nullopt;
};

class Fitter {
 public:
  explicit Fitter(SchemaCursor& cursor) : cursor_(cursor) {}

  // The literal as a value of the type, or nothing if it does not fit.
  std::optional<Value> fit(const Type& type, const Literal& literal);
  // Why the literal, which did not fit, does not.
  Obstacle why_not(const Type& type, const Literal& literal);

 private:
  std::optional<Value> fit_int(const Type& type, const Literal& literal);
  std::optional<Value> fit_float(const Literal& literal);
  std::optional<Value> fit_complex(const Literal& literal);
  std::optional<Value> fit_bool(const Literal& literal) const;
  std::optional<Value> fit_scalar(const Literal& literal);
  std::optional<Value> fit_text(const Literal& literal) const;
  std::optional<Value> fit_device(const Literal& literal);
  std::optional<Value> fit_items(const Type& element, const Literal& literal);
  std::optional<Value> fit_repeated(const Type& type, const Literal& literal);
  std::optional<Value> fit_union(const Type& type, const Literal& literal);
  std::optional<Value> fit_any(const Literal& literal);
  template <typename Number>
  std::optional<Value> read(const Literal& literal, const char* what);
  template <typename Number>
  std::optional<Number> read_digits(const Literal& literal, bool negative, std::string_view text,
                                    const char* what);

  SchemaCursor& cursor_;
  std::optional<Obstacle> obstacle_;
};

template <typename Number>
std::optional<Number> Fitter::read_digits(const Literal& literal, bool negative,
                                          std::string_view text, const char* what) {
  std::optional<Number> number;
  if constexpr (std::is_same_v<Number, double>) {
    number = read_real(text, negative);
  } else {
    number = read_integer(text, negative);
  }
  if (!number) {
    obstacle_ = Obstacle{literal.span,
                         fmt::format("{} does not fit into {} of 64 bits",
                                     shown(fmt::format("{}{}", negative ? "-" : "", text)), what)};
  }
  return number;
}

template <typename Number>
std::optional<Value> Fitter::read(const Literal& literal, const char* what) {
  const auto number = read_digits<Number>(literal, literal.negative, literal.token.text, what);
  return number ? std::optional<Value>(Value(*number)) : std::nullopt;
}

std::optional<Value> Fitter::fit_int(const Type& type, const Literal& literal) {
  if (literal.is_number() && literal.token.kind == TokenKind::Integer) {
    return read<std::int64_t>(literal, "an int");
  }
  if (literal.list || literal.negative || literal.token.kind != TokenKind::Name) {
    return std::nullopt;
  }
  const auto number = find_constant(type.kind(), literal.token.text);
  return number ? std::optional<Value>(Value(*number)) : std::nullopt;
}

std::optional<Value> Fitter::fit_float(const Literal& literal) {
  if (literal.is_number()) return read<double>(literal, "a float");
  if (literal.list) return std::nullopt;
  const double infinity = std::numeric_limits<double>::infinity();
  if (literal.token.is_name("inf")) return Value(literal.negative ? -infinity : infinity);
  if (literal.is_name("nan")) return Value(std::numeric_limits<double>::quiet_NaN());
  return std::nullopt;
}

// 2j, 1.-2j, or a number without an imaginary part.
std::optional<Value> Fitter::fit_complex(const Literal& literal) {
  if (literal.is_number()) {
    const auto real = read_digits<double>(literal, literal.negative, literal.token.text, "a float");
    return real ? std::optional<Value>(Value(std::complex<double>(*real))) : std::nullopt;
  }
  if (literal.list || literal.token.kind != TokenKind::Complex) return std::nullopt;
  const ComplexDigits digits = split_complex(literal.token);
  if (digits.real.empty()) {
    const auto part = read_digits<double>(literal, literal.negative, digits.imaginary, "a float");
    return part ? std::optional<Value>(Value(std::complex<double>(0, *part))) : std::nullopt;
  }
  const auto real = read_digits<double>(literal, literal.negative, digits.real, "a float");
  if (!real) return std::nullopt;
  const auto imaginary =
      read_digits<double>(literal, digits.imaginary_negative, digits.imaginary, "a float");
  if (!imaginary) return std::nullopt;
  return Value(std::complex<double>(*real, *imaginary));
}

std::optional<Value> Fitter::fit_bool(const Literal& literal) const {
  if (literal.is_name("True")) return Value(true);
  if (literal.is_name("False")) return Value(false);
  return std::nullopt;
}

std::optional<Value> Fitter::fit_scalar(const Literal& literal) {
  if (auto value = fit_bool(literal)) return value;
  if (literal.is_number() && literal.token.kind == TokenKind::Integer) {
    return read<std::int64_t>(literal, "an int");
  }
  if (!literal.list && literal.token.kind == TokenKind::Complex) return fit_complex(literal);
  return fit_float(literal);
}

std::optional<Value> Fitter::fit_text(const Literal& literal) const {
  if (!literal.is_text()) return std::nullopt;
  return Value(std::string_view(unquote(literal.token).text));
}

std::optional<Value> Fitter::fit_device(const Literal& literal) {
  if (literal.is_name("cpu")) return Value(Device{});
  const std::optional<Value> name = fit_text(literal);
  if (!name) return std::nullopt;
  try {
    return Value(parse_device(name->to_string_view()));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::BadValue) throw;
    obstacle_ = Obstacle{literal.span, error.what()};
    return std::nullopt;
  }
}

std::optional<Value> Fitter::fit_items(const Type& element, const Literal& literal) {
  std::vector<Value> items;
  for (const Literal& item : literal.items) {
    obstacle_.reset();
    std::optional<Value> value = fit(element, item);
    if (!value) {
      obstacle_ = why_not(element, item);
      return std::nullopt;
    }
    items.push_back(std::move(*value));
  }
  return Value::list(std::move(items));
}

// One literal fills a list whose size the type gives.
std::optional<Value> Fitter::fit_repeated(const Type& type, const Literal& literal) {
  if (type.size_hint() == 0) return std::nullopt;
  const std::optional<Value> value = fit(type.element(), literal);
  // A repeated list would print as more than its text justifies.
  if (!value || value->is_none() || value->is_list()) return std::nullopt;
  const std::size_t limit = cursor_.limits().items;
  if (std::uint64_t(type.size_hint()) > limit) {
    obstacle_ = Obstacle{literal.span,
                         fmt::format("one default value is not repeated {} times; the limit is {}",
                                     type.size_hint(), limit)};
    return std::nullopt;
  }
  for (std::int64_t i = 0; i < type.size_hint(); ++i) cursor_.count_node();
  return Value::list(std::vector<Value>(std::size_t(type.size_hint()), *value));
}

// The first member that the literal fits, in the canonical order.
std::optional<Value> Fitter::fit_union(const Type& type, const Literal& literal) {
  for (const TypePtr& member : type.elements()) {
    if (auto value = fit(*member, literal)) return value;
  }
  obstacle_.reset();  // it is about one member only
  return std::nullopt;
}

std::optional<Value> Fitter::fit_any(const Literal& literal) {
  if (literal.is_name("None")) return Value();
  if (auto value = fit_text(literal)) return value;
  return fit_scalar(literal);
}

std::optional<Value> Fitter::fit(const Type& type, const Literal& literal) {
  switch (runtime_kind(type.kind())) {
    case TypeKind::Int:
      return fit_int(type, literal);
    case TypeKind::Float:
      return fit_float(literal);
    case TypeKind::Complex:
      return fit_complex(literal);
    case TypeKind::Bool:
      return fit_bool(literal);
    case TypeKind::Scalar:
      return fit_scalar(literal);
    case TypeKind::Str:
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
      return literal.list ? fit_items(type.element(), literal) : fit_repeated(type, literal);
    case TypeKind::Union:
      return fit_union(type, literal);
    default:
      return std::nullopt;
  }
}

Obstacle Fitter::why_not(const Type& type, const Literal& literal) {
  if (obstacle_) return *std::exchange(obstacle_, std::nullopt);
  const bool optional = type.kind() == TypeKind::Optional;
  const Type& inner = optional ? type.element() : type;
  std::string accepted = advice_for(inner);
  if (optional) accepted = accepted.empty() ? "None" : fmt::format("None, or {}", accepted);
  accepted = accepted.empty() ? "write none, or make the type optional with '?' and write None"
                              : fmt::format("write {}", accepted);
  Obstacle obstacle{literal.span, fmt::format("default value {} does not fit type '{}'; {}",
                                              shown(cursor_.text(literal.span)),
                                              shown(to_string(type)), accepted)};
  std::optional<std::string> better = better_text(cursor_, type, literal);
  if (inner.kind() == TypeKind::List && !literal.list && !literal.is_name("None") &&
      fit(inner.element(), literal)) {
    better = fmt::format("[{}]", cursor_.text(literal.span));
  }
  if (better) obstacle.fix = SchemaFix{literal.span.begin, literal.span.end, std::move(*better)};
  return obstacle;
}

// Reports texts with unknown escapes; they are read all the same.
void check_texts(SchemaCursor& cursor, const Literal& literal) {
  for (const Literal& item : literal.items) check_texts(cursor, item);
  if (literal.list || literal.token.kind != TokenKind::Text) return;
  const Unquoted unquoted = unquote(literal.token);
  if (unquoted.wrong) {
    cursor.report(*unquoted.wrong,
                  "unknown escape; known are \\\\ \\\" \\' \\? \\a \\b \\f \\n \\r \\t "
                  "\\v, \\x with two digits from 00 to 7f and \\ with octal digits up to 177");
  }
}

}  // namespace

Value parse_default(SchemaCursor& cursor, const ParsedType& type) {
  const Literal literal = parse_literal(cursor, "a default value");
  check_texts(cursor, literal);
  if (!type.known) return Value();
  Fitter fitter(cursor);
  if (std::optional<Value> value = fitter.fit(*type.type, literal)) return std::move(*value);
  Obstacle obstacle = fitter.why_not(*type.type, literal);
  if (!obstacle.fix && literal.is_name("None") && type.type->kind() != TypeKind::Optional) {
    obstacle.fix =
        SchemaFix{type.span.begin, type.span.end, std::string(cursor.text(type.span)) + '?'};
  }
  cursor.report(obstacle.span, std::move(obstacle.message), std::move(obstacle.fix));
  return Value();
}

}  // namespace opyard::detail
