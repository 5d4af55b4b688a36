// schema/lexer.h: the words of a schema text.
//
// White space separates words and means nothing else; "#" begins a comment that ends with the
// line. A word is a view into the text, so nothing is copied.
//
// Depends on: schema/source.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "schema/source.h"

namespace opyard::detail {

enum class TokenKind {
  End,
  Name,     // a letter or underscore, then letters, digits and underscores
  Integer,  // digits
  Real,     // digits with a point or an exponent
  Complex,  // a number and j
  Text,     // in double quotes, quotes and escapes included
  Symbol,   // ( ) [ ] , = ? ! | * - : :: . ... ->
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;
  std::size_t offset = 0;

  bool is(std::string_view symbol) const { return kind == TokenKind::Symbol && text == symbol; }
  bool is_name(std::string_view name) const { return kind == TokenKind::Name && text == name; }
  std::size_t end() const { return offset + text.size(); }
};

// For messages: "the end", or the word in quotes.
std::string describe(const Token& token);

class Lexer {
 public:
  Lexer(const Source& source, std::size_t name_bytes) : source_(source), name_bytes_(name_bytes) {}

  // The next word. Raises BadSchema for what is none, and for a name that is too long.
  Token next();

 private:
  void skip_blanks();
  Token word(TokenKind kind, std::size_t end);
  Token name();
  Token number();
  Token quoted();
  Token symbol();
  char at(std::size_t offset) const;

  const Source& source_;
  const std::size_t name_bytes_;
  std::size_t offset_ = 0;
};

// The characters that a Text token stands for. Raises BadSchema for an unknown escape.
std::string unquote(const Source& source, const Token& token);

}  // namespace opyard::detail
