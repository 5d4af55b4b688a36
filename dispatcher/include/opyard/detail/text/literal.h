// opyard/detail/text/literal.h: a number, name, text or list as it is written, before anyone asks
// which type it is to have.
//
// Depends on: text/cursor.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "opyard/detail/text/cursor.h"

namespace opyard::detail {

// One token with a sign before it, or a list of literals in brackets.
struct Literal {
  Token token;  // the first one; behind the sign if there is one
  Span span;    // all of it
  bool negative = false;
  bool list = false;
  std::vector<Literal> items;

  bool is_number() const {
    return !list && (token.kind == TokenKind::Integer || token.kind == TokenKind::Real);
  }
  bool is_name(std::string_view name) const { return !list && !negative && token.is_name(name); }
  bool is_text() const { return !list && !negative && token.kind == TokenKind::Text; }
};

// The literal here, which messages call `what`: "a default value". Fails if there is none, and
// past the limits.
OPYARD_API Literal parse_literal(Cursor& cursor, std::string_view what, std::size_t depth = 1);

// The number that digits mean, or nothing if 64 bits cannot hold it. The sign is read with the
// digits, so that the least int64 is read like any other.
OPYARD_API std::optional<std::int64_t> read_integer(std::string_view digits, bool negative = false);
OPYARD_API std::optional<double> read_real(std::string_view digits, bool negative = false);

// The digits of a token Complex: of 1.5-2j "1.5", "2" and true; of 2j "", "2" and false.
struct ComplexDigits {
  std::string_view real;  // empty if there is no real part
  std::string_view imaginary;
  bool imaginary_negative = false;
};
OPYARD_API ComplexDigits split_complex(const Token& token);

}  // namespace opyard::detail
