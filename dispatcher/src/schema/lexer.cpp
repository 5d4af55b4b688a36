// schema/lexer.cpp: splitting a schema text into words.
#include "schema/lexer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/identifier.h"

namespace opyard::detail {
namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Longer ones first where one begins another.
constexpr std::string_view kSymbols[] = {"...", "::", "->", "(", ")", "[", "]", ",",
                                         "=",   "?",  "!",  "|", "*", "-", ":", "."};

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// What stands behind a backslash for one character, or 0.
char simple_escape(char c) {
  switch (c) {
    case '\\':
    case '"':
    case '\'':
      return c;
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    default:
      return 0;
  }
}

}  // namespace

std::string describe(const Token& token) {
  return token.kind == TokenKind::End ? "the end" : fmt::format("'{}'", shown(token.text));
}

char Lexer::at(std::size_t offset) const {
  return offset < source_.text().size() ? source_.text()[offset] : '\0';
}

void Lexer::skip_blanks() {
  const std::string_view text = source_.text();
  while (offset_ < text.size()) {
    if (text[offset_] == '#') {
      offset_ = std::min(text.find('\n', offset_), text.size());
    } else if (is_blank(text[offset_])) {
      ++offset_;
    } else {
      return;
    }
  }
}

Token Lexer::word(TokenKind kind, std::size_t end) {
  const Token token{kind, source_.text().substr(offset_, end - offset_), offset_};
  offset_ = end;
  return token;
}

Token Lexer::name() {
  std::size_t end = offset_;
  while (begins_identifier(at(end)) || is_digit(at(end))) ++end;
  if (end - offset_ > name_bytes_) {
    source_.fail_at(offset_, fmt::format("a name of {} bytes is too long; the limit is {}",
                                         end - offset_, name_bytes_));
  }
  return word(TokenKind::Name, end);
}

Token Lexer::number() {
  std::size_t end = offset_;
  TokenKind kind = TokenKind::Integer;
  const auto skip_digits = [&] {
    while (is_digit(at(end))) ++end;
  };
  skip_digits();
  if (at(end) == '.') {
    kind = TokenKind::Real;
    ++end;
    skip_digits();
  }
  const std::size_t sign = at(end + 1) == '-' || at(end + 1) == '+' ? 1 : 0;
  if ((at(end) == 'e' || at(end) == 'E') && is_digit(at(end + 1 + sign))) {
    kind = TokenKind::Real;
    end += 1 + sign;
    skip_digits();
  }
  if (at(end) == 'j') {
    kind = TokenKind::Complex;
    ++end;
  }
  if (begins_identifier(at(end)) || is_digit(at(end))) {
    while (begins_identifier(at(end)) || is_digit(at(end))) ++end;
    const std::string_view text = source_.text().substr(offset_, end - offset_);
    source_.fail_at(offset_, fmt::format("'{}' is neither a number nor a name", shown(text)));
  }
  return word(kind, end);
}

Token Lexer::quoted() {
  std::size_t end = offset_ + 1;
  while (end < source_.text().size() && at(end) != '\n' && at(end) != '"') {
    end += at(end) == '\\' ? 2 : 1;
  }
  if (at(end) != '"') source_.fail_at(offset_, "this text has no closing '\"'");
  return word(TokenKind::Text, end + 1);
}

Token Lexer::symbol() {
  const std::string_view rest = source_.text().substr(offset_);
  for (const std::string_view symbol : kSymbols) {
    if (rest.starts_with(symbol)) return word(TokenKind::Symbol, offset_ + symbol.size());
  }
  if (rest.front() == '\'') source_.fail_at(offset_, "texts are written in double quotes");
  std::size_t bytes = 1;
  while ((static_cast<unsigned char>(at(offset_ + bytes)) & 0xc0) == 0x80) ++bytes;
  source_.fail_at(offset_, fmt::format("unexpected '{}'", shown(rest.substr(0, bytes))));
}

Token Lexer::next() {
  skip_blanks();
  const char c = at(offset_);
  if (offset_ >= source_.text().size()) return word(TokenKind::End, offset_);
  if (begins_identifier(c)) return name();
  if (is_digit(c) || (c == '.' && is_digit(at(offset_ + 1)))) return number();
  if (c == '"') return quoted();
  return symbol();
}

std::string unquote(const Source& source, const Token& token) {
  const std::string_view text = token.text.substr(1, token.text.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char kind = text[++i];
    const int high = kind == 'x' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (simple_escape(kind) != 0) {
      out += simple_escape(kind);
    } else if (high >= 0 && high < 8 && low >= 0) {
      out += char(high * 16 + low);
      i += 2;
    } else {
      source.fail_at(token.offset + i,
                     "unknown escape; known are \\\\ \\\" \\' \\n \\t \\r and \\x "
                     "with two digits from 00 to 7f");
    }
  }
  return out;
}

}  // namespace opyard::detail
