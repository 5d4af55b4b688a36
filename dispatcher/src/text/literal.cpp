// text/literal.cpp: parser of literals: numbers, names, texts, lists.
#include "opyard/detail/text/literal.h"

#include <charconv>
#include <string>

namespace opyard::detail {
namespace {

bool is_literal(TokenKind kind) {
  switch (kind) {
    case TokenKind::Name:
    case TokenKind::Integer:
    case TokenKind::Real:
    case TokenKind::Complex:
    case TokenKind::Text:
      return true;
    default:
      return false;
  }
}

template <typename Number>
std::optional<Number> read_number(std::string_view digits, bool negative) {
  const std::string text = (negative ? "-" : "") + std::string(digits);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return std::nullopt;
}

}  // namespace

Literal parse_literal(Cursor& cursor, std::string_view what, std::size_t depth) {
  cursor.count_node();
  cursor.check_depth(depth);
  Literal literal;
  literal.span.begin = cursor.peek().offset;
  literal.list = cursor.peek().is("[");
  literal.negative = cursor.take_if("-");
  literal.token = cursor.peek();
  if (!literal.list && !is_literal(literal.token.kind)) cursor.fail_expected(what);
  cursor.take();
  if (literal.list) {
    if (!cursor.take_if("]")) {
      do {
        literal.items.push_back(parse_literal(cursor, what, depth + 1));
      } while (cursor.take_if(","));
      cursor.expect_close("]");
    }
  }
  literal.span.end = cursor.last_end();
  return literal;
}

std::optional<std::int64_t> read_integer(std::string_view digits, bool negative) {
  return read_number<std::int64_t>(digits, negative);
}

std::optional<double> read_real(std::string_view digits, bool negative) {
  return read_number<double>(digits, negative);
}

ComplexDigits split_complex(const Token& token) {
  const std::string_view text = token.text.substr(0, token.text.size() - 1);  // without the j
  double ignored = 0;  // the first part, which ends at a sign if there are two
  const char* const end = std::from_chars(text.data(), text.data() + text.size(), ignored).ptr;
  const std::string_view first = text.substr(0, std::size_t(end - text.data()));
  const std::string_view rest = text.substr(first.size());
  if (rest.empty()) return {{}, first, false};
  return {first, rest.substr(1), rest.front() == '-'};
}

}  // namespace opyard::detail
