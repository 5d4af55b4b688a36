// text/lexer.cpp: splitting a text into tokens.
#include "opyard/detail/text/lexer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/identifier.h"

namespace opyard::detail {
namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool continues_name(char c) { return begins_identifier(c) || is_digit(c); }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The character that a backslash and this one mean, or 0.
char simple_escape(char c) {
  switch (c) {
    case '\\':
    case '"':
    case '\'':
      return c;
    case '?':
      return c;
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    default:
      return 0;
  }
}

// An octal escape: how many digits follow the backslash, up to three; 0 if it is none, or past 177.
std::size_t octal_digits(std::string_view text) {
  std::size_t count = 0;
  int number = 0;
  while (count < 3 && count < text.size() && text[count] >= '0' && text[count] <= '7') {
    number = number * 8 + (text[count++] - '0');
  }
  return number < 128 ? count : 0;
}

char octal(std::string_view digits) {
  int number = 0;
  for (const char digit : digits) number = number * 8 + (digit - '0');
  return char(number);
}

}  // namespace

std::string describe(const Token& token) {
  return token.kind == TokenKind::End ? "the end" : fmt::format("'{}'", shown(token.text));
}

char Lexer::at(std::size_t offset) const { return offset < text_.size() ? text_[offset] : '\0'; }

void Lexer::skip_blanks() {
  const std::string_view text = text_;
  while (offset_ < text.size()) {
    const char c = text[offset_];
    if (is_blank(c)) {
      line_begins_ = line_begins_ || c == '\n';
      ++offset_;
    } else if (c != '\0' && c == language_.comment && !language_.keep_comments) {
      offset_ = std::min(text.find('\n', offset_), text.size());
    } else {
      return;
    }
  }
}

Token Lexer::token(TokenKind kind, std::size_t end) {
  const Token token{kind, text_.substr(offset_, end - offset_), offset_, line_begins_};
  offset_ = end;
  line_begins_ = false;
  return token;
}

Token Lexer::wrong(std::size_t end, std::string problem) {
  problem_ = std::move(problem);
  return token(TokenKind::Wrong, end);
}

Token Lexer::refuse_length(std::size_t end) {
  return wrong(end, fmt::format("a name of {} bytes is too long; the limit is {}", end - offset_,
                                name_bytes_));
}

Token Lexer::name() {
  std::size_t end = offset_;
  while (continues_name(at(end))) ++end;
  return too_long(end) ? refuse_length(end) : token(TokenKind::Name, end);
}

// Points and hyphens belong to the variable if more of its name follows: %x.1, %block4-5.f, but
// "%x." ends before the point.
Token Lexer::variable() {
  std::size_t end = offset_ + 1;
  for (std::size_t next = end; continues_name(at(next));) {
    while (continues_name(at(next))) ++next;
    end = next;
    while (at(next) == '.' || at(next) == '-') ++next;
  }
  return too_long(end) ? refuse_length(end) : token(TokenKind::Variable, end);
}

Token Lexer::comment() {
  return token(TokenKind::Comment, std::min(text_.find('\n', offset_), text_.size()));
}

// The end of the digits that begin at `end`, with a point and an exponent if there are some.
std::size_t Lexer::after_digits(std::size_t end, TokenKind& kind) const {
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
  return end;
}

// The end of the imaginary part, before its "j", if one is added behind a number without blanks;
// else `end`.
std::size_t Lexer::after_complex_sum(std::size_t end) const {
  if (!language_.complex_sums || (at(end) != '+' && at(end) != '-')) return end;
  TokenKind ignored{};
  const std::size_t other = after_digits(end + 1, ignored);
  const bool digits = is_digit(at(other - 1) == '.' ? at(other - 2) : at(other - 1));
  return digits && at(other) == 'j' ? other : end;
}

// 1, 1.5, 2j and, without blanks, 1.5-2j.
Token Lexer::number() {
  TokenKind kind = TokenKind::Integer;
  std::size_t end = after_complex_sum(after_digits(offset_, kind));
  if (at(end) == 'j') {
    kind = TokenKind::Complex;
    ++end;
  }
  if (continues_name(at(end))) {
    while (continues_name(at(end))) ++end;
    const std::string_view text = text_.substr(offset_, end - offset_);
    return wrong(end, fmt::format("'{}' is neither a number nor a name", shown(text)));
  }
  return token(kind, end);
}

Token Lexer::quoted() {
  const char quote = at(offset_);
  std::size_t end = offset_ + 1;
  while (end < text_.size() && at(end) != '\n' && at(end) != quote) {
    end += at(end) == '\\' ? 2 : 1;
  }
  if (at(end) == quote) return token(TokenKind::Text, end + 1);
  end = std::min(text_.find('\n', offset_), text_.size());
  return wrong(end, fmt::format("this text has no closing '{}'", quote));
}

Token Lexer::symbol() {
  const std::string_view rest = text_.substr(offset_);
  for (const std::string_view symbol : language_.symbols) {
    if (rest.starts_with(symbol)) return token(TokenKind::Symbol, offset_ + symbol.size());
  }
  std::size_t bytes = 1;
  while ((static_cast<unsigned char>(at(offset_ + bytes)) & 0xc0) == 0x80) ++bytes;
  return wrong(offset_ + bytes, fmt::format("unexpected '{}'", shown(rest.substr(0, bytes))));
}

Token Lexer::next() {
  skip_blanks();
  const char c = at(offset_);
  if (offset_ >= text_.size()) return token(TokenKind::End, offset_);
  if (begins_identifier(c)) return name();
  if (c == '\0') return symbol();  // 0 as a mark or comment means that there is none
  if (c == language_.variable_mark && continues_name(at(offset_ + 1))) return variable();
  if (c == language_.comment) return comment();
  if (is_digit(c) || (c == '.' && is_digit(at(offset_ + 1)))) return number();
  if (c == '"' || c == '\'') return quoted();
  return symbol();
}

Unquoted unquote(const Token& token) {
  const std::string_view text = token.text.substr(1, token.text.size() - 2);
  Unquoted out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out.text += text[i];
      continue;
    }
    const std::size_t backslash = i;
    const char kind = text[++i];
    const int high = kind == 'x' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    const std::size_t digits = octal_digits(text.substr(i));
    if (simple_escape(kind) != 0) {
      out.text += simple_escape(kind);
    } else if (digits > 0) {
      out.text += octal(text.substr(i, digits));
      i += digits - 1;
    } else if (high >= 0 && high < 8 && low >= 0) {
      out.text += char(high * 16 + low);
      i += 2;
    } else if (!out.wrong) {
      const std::size_t begin = token.offset + 1 + backslash;
      out.wrong = Span{begin, begin + 2};
    }
  }
  return out;
}

}  // namespace opyard::detail
