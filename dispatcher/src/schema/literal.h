// schema/literal.h: a default value as it is written, before its type is looked at.
//
// Depends on: schema/cursor.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "schema/cursor.h"

namespace opyard::detail {

// One word with a sign before it, or a list of literals in brackets.
struct Literal {
  Token token;  // the first word; behind the sign where there is one
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

// What stands behind a "=". Fails where that is no literal, and past the limits.
Literal parse_literal(Cursor& cursor, std::size_t depth = 1);

// The number that a name stands for where a value of this type is wanted: float for a
// ScalarType, strided for a Layout, contiguous_format for a MemoryFormat, Mean for an int.
std::optional<std::int64_t> find_constant(TypeKind type, std::string_view name);

}  // namespace opyard::detail
