// opyard/detail/text/lexer.h: the tokens of a text.
//
// White space separates tokens and means nothing else; a parser that cares about lines asks
// Token::begins_line. A token is a view into the text, so nothing is copied. What is no token
// comes out as one of kind Wrong; problem() says what is wrong with it.
//
// Depends on: text/language.h, text/source.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "opyard/base/export.h"
#include "opyard/detail/text/language.h"
#include "opyard/detail/text/source.h"

namespace opyard::detail {

enum class TokenKind {
  End,
  Name,      // a letter or underscore, then letters, digits and underscores
  Variable,  // the language's mark, then letters, digits, underscores and points between them
  Integer,   // digits
  Real,      // digits with a point or an exponent
  Complex,   // a number and j; also a sum such as 1.5-2j if the language says so
  Text,      // in quotes, which should be double ones; quotes and escapes included
  Symbol,    // one of the language's
  Comment,   // with its mark, if the language keeps comments
  Wrong,
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;
  std::size_t offset = 0;
  bool begins_line = false;  // nothing but blanks is before it in its line

  bool is(std::string_view symbol) const { return kind == TokenKind::Symbol && text == symbol; }
  bool is_name(std::string_view name) const { return kind == TokenKind::Name && text == name; }
  std::size_t end() const { return offset + text.size(); }
  Span span() const { return {offset, end()}; }
};

// For messages: "the end", or the token in quotes.
OPYARD_API std::string describe(const Token& token);

class OPYARD_API Lexer {
 public:
  // Both the text and the language must outlive the lexer.
  Lexer(std::string_view text, const Language& language, std::size_t name_bytes)
      : text_(text), language_(language), name_bytes_(name_bytes) {}

  // The next token; behind the last one it is End, however often it is asked for.
  Token next();
  // Of the last token, which is Wrong.
  const std::string& problem() const noexcept { return problem_; }

 private:
  void skip_blanks();
  Token token(TokenKind kind, std::size_t end);
  Token wrong(std::size_t end, std::string problem);
  bool too_long(std::size_t end) const { return end - offset_ > name_bytes_; }
  Token refuse_length(std::size_t end);
  Token name();
  Token variable();
  std::size_t after_digits(std::size_t end, TokenKind& kind) const;
  std::size_t after_complex_sum(std::size_t end) const;
  Token number();
  Token comment();
  Token quoted();
  Token symbol();
  char at(std::size_t offset) const;

  const std::string_view text_;
  const Language& language_;
  const std::size_t name_bytes_;
  std::size_t offset_ = 0;
  bool line_begins_ = true;
  std::string problem_;
};

// The characters of a Text token, and its first escape that is unknown.
struct Unquoted {
  std::string text;
  std::optional<Span> wrong;  // the first unknown escape, as a place in the source
};
OPYARD_API Unquoted unquote(const Token& token);

}  // namespace opyard::detail
