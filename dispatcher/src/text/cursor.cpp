// text/cursor.cpp: parser cursor: advancing, and limits.
#include "opyard/detail/text/cursor.h"

#include <fmt/format.h>

#include <algorithm>

namespace opyard::detail {
namespace {

// Deeper than this is refused whatever the caller allows: the parser recurses.
constexpr std::size_t kMostNesting = 512;

TextLimits bounded(TextLimits limits) {
  limits.nesting = std::min(limits.nesting, kMostNesting);
  return limits;
}

void check_bytes(std::string_view text, const char* what, std::size_t limit, Faults& faults) {
  if (text.size() > limit) {
    faults.fail(
        {}, fmt::format("a {} of {} bytes is too long; the limit is {}", what, text.size(), limit));
  }
  const std::size_t wrong = find_wrong_byte(text);
  if (wrong == std::string_view::npos) return;
  const Span span{wrong, wrong + 1};
  if (text[wrong] == '\0')
    faults.fail(span, fmt::format("byte \\x00 is not allowed in a {}", what));
  faults.fail(span, fmt::format("byte \\x{:02x} is not UTF-8 text",
                                static_cast<unsigned char>(text[wrong])));
}

}  // namespace

Cursor::Cursor(std::string_view text, const Language& language, const TextLimits& limits,
               Faults& faults)
    : limits_(bounded(limits)),
      text_(text),
      language_(language),
      faults_(faults),
      lexer_(text, language, limits.name_bytes) {
  check_bytes(text, language.what, limits.bytes, faults);
  advance();
}

void Cursor::advance() {
  last_end_ = current_.end();
  current_ = lexer_.next();
  if (current_.kind != TokenKind::Wrong) return;
  if (skipping_) throw GiveUp{};
  faults_.fail(current_.span(), lexer_.problem());
}

Token Cursor::peek_second() const {
  Lexer ahead = lexer_;
  return ahead.next();
}

Token Cursor::take() {
  const Token token = current_;
  advance();
  return token;
}

bool Cursor::take_if(std::string_view symbol) {
  if (!current_.is(symbol)) return false;
  advance();
  return true;
}

bool Cursor::take_if_name(std::string_view name) {
  if (!current_.is_name(name)) return false;
  advance();
  return true;
}

Token Cursor::expect(std::string_view symbol) {
  if (!current_.is(symbol)) fail_expected(fmt::format("'{}'", symbol));
  return take();
}

Token Cursor::expect_close(std::string_view symbol) {
  if (!current_.is(symbol)) fail_expected(fmt::format("',' or '{}'", symbol));
  return take();
}

Token Cursor::expect_name(std::string_view what) {
  if (current_.kind != TokenKind::Name) fail_expected(what);
  return take();
}

void Cursor::expect_end() {
  if (current_.kind != TokenKind::End) fail_expected("the end");
}

void Cursor::skip_item() {
  skipping_ = true;
  for (int depth = 0; current_.kind != TokenKind::End; advance()) {
    const bool opens = current_.is("(") || current_.is("[");
    const bool closes = current_.is(")") || current_.is("]");
    if (depth == 0 && (current_.is(",") || current_.is(")") || current_.is("->"))) break;
    depth += opens ? 1 : closes && depth > 0 ? -1 : 0;
  }
  skipping_ = false;
}

void Cursor::fail_at(Span span, std::string message) const {
  faults_.fail(span, std::move(message));
}

void Cursor::fail_expected(std::string_view what) const {
  fail_at(current_.span(), fmt::format("expected {} but found {}", what, describe(current_)));
}

void Cursor::check_depth(std::size_t depth) const {
  if (depth <= limits_.nesting) return;
  fail_at(current_.span(),
          fmt::format("this is nested too deeply; the limit is {}", limits_.nesting));
}

void Cursor::count_node() {
  if (++nodes_ <= limits_.nodes) return;
  fail_at(current_.span(),
          fmt::format("too many {}; the limit is {}", language_.nodes, limits_.nodes));
}

}  // namespace opyard::detail
