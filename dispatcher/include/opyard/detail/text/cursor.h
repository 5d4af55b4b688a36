// opyard/detail/text/cursor.h: a lexer's position in a text with one token of lookahead, and limits of reading.
//
// The parts of a parser share one cursor. What a parser keeps besides, it keeps in a class of its
// own that derives from this one, as schema/schema_cursor.h does.
//
// Depends on: text/faults.h, text/lexer.h, text/limits.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "opyard/detail/text/faults.h"
#include "opyard/detail/text/lexer.h"
#include "opyard/detail/text/limits.h"

namespace opyard::detail {

class OPYARD_API Cursor {
 public:
  // All of them but the limits must outlive the cursor. Throws GiveUp, as all that moves on, if
  // there is no token here, and if the text is too long or has bytes that are not UTF-8.
  Cursor(std::string_view text, const Language& language, const TextLimits& limits, Faults& faults);
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  const Token& peek() const noexcept { return current_; }
  // The token behind the one that peek() returns; End if there is none.
  Token peek_second() const;
  // Where the token before this one ended.
  std::size_t last_end() const noexcept { return last_end_; }
  Token take();
  bool take_if(std::string_view symbol);
  bool take_if_name(std::string_view name);
  // Each fails if this is another token.
  Token expect(std::string_view symbol);
  Token expect_name(std::string_view what);
  // What closes a list, behind an item of it: a "," would be right as well.
  Token expect_close(std::string_view symbol);
  void expect_end();
  // Passes over the rest of an argument, result or element: up to a "," or ")" behind it, a
  // "->" or the end. What is passed over is not judged.
  void skip_item();

  void report(Span span, std::string message, std::optional<TextFix> fix = std::nullopt) {
    faults_.report(span, std::move(message), std::move(fix));
  }
  [[noreturn]] void fail_at(Span span, std::string message) const;
  // "expected <what> but found <the token here>".
  [[noreturn]] void fail_expected(std::string_view what) const;

  std::string_view text(Span span) const { return text_.substr(span.begin, span.end - span.begin); }
  const TextLimits& limits() const noexcept { return limits_; }
  // Fails if a type, literal or block is nested more deeply than allowed.
  void check_depth(std::size_t depth) const;
  // One more of what the language counts. Fails past the limit.
  void count_node();

 private:
  void advance();

  const TextLimits limits_;
  const std::string_view text_;
  const Language& language_;
  Faults& faults_;
  Lexer lexer_;
  Token current_;
  std::size_t last_end_ = 0;
  bool skipping_ = false;
  std::size_t nodes_ = 0;
};

}  // namespace opyard::detail
