// schema/lexer.h: the words of a schema text.
//
// White space separates words and means nothing else; "#" begins a comment that ends with the
// line. A word is a view into the text, so nothing is copied. What is no word comes out as one
// of kind Wrong; problem() says what is wrong with it.
//
// Depends on: schema/source.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "schema/source.h"

namespace opyard::detail {

enum class TokenKind {
  End,
  Name,     // a letter or underscore, then letters, digits and underscores
  Integer,  // digits
  Real,     // digits with a point or an exponent
  Complex,  // a number and j; also a sum such as 1.5-2j
  Text,     // in quotes, which should be double ones; quotes and escapes included
  Symbol,   // ( ) [ ] , = ? ! | * - + : :: . ... ->
  Wrong,
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;
  std::size_t offset = 0;

  bool is(std::string_view symbol) const { return kind == TokenKind::Symbol && text == symbol; }
  bool is_name(std::string_view name) const { return kind == TokenKind::Name && text == name; }
  std::size_t end() const { return offset + text.size(); }
  Span span() const { return {offset, end()}; }
};

// For messages: "the end", or the word in quotes.
std::string describe(const Token& token);

class Lexer {
 public:
  Lexer(std::string_view text, std::size_t name_bytes) : text_(text), name_bytes_(name_bytes) {}

  // The next word; the last one is End, again and again.
  Token next();
  // Of the last word, which is Wrong.
  const std::string& problem() const noexcept { return problem_; }

 private:
  void skip_blanks();
  Token word(TokenKind kind, std::size_t end);
  Token wrong(std::size_t end, std::string problem);
  Token name();
  std::size_t after_digits(std::size_t end, TokenKind& kind) const;
  Token number();
  Token quoted();
  Token symbol();
  char at(std::size_t offset) const;

  const std::string_view text_;
  const std::size_t name_bytes_;
  std::size_t offset_ = 0;
  std::string problem_;
};

// The characters that a Text token stands for, and where an escape in it is unknown.
struct Unquoted {
  std::string text;
  std::optional<Span> wrong;  // the first unknown escape, as a place in the source
};
Unquoted unquote(const Token& token);

}  // namespace opyard::detail
