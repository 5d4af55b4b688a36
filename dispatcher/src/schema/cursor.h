// schema/cursor.h: a place in a schema text, one word ahead, and what reading may cost.
//
// The three parts of the parser share one cursor: parse.cpp reads names, arguments and
// results, parse_type.cpp types and alias sets, parse_default.cpp default values.
//
// Depends on: schema/lexer.h, schema/parse.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "opyard/schema/parse.h"
#include "schema/lexer.h"

namespace opyard::detail {

class Cursor {
 public:
  Cursor(std::string_view text, const SchemaLimits& limits);
  Cursor(const Cursor&) = delete;  // the lexer points to the source
  Cursor& operator=(const Cursor&) = delete;

  const Token& peek() const noexcept { return current_; }
  Token take();
  bool take_if(std::string_view symbol);
  // Each raises BadSchema where another word stands here.
  Token expect(std::string_view symbol);
  Token expect_name(std::string_view what);
  void expect_end();

  // Raises BadSchema, pointing at the word.
  [[noreturn]] void fail_at(const Token& token, std::string_view message) const;
  // "expected <what> but found <the word here>".
  [[noreturn]] void fail_expected(std::string_view what) const;

  const SchemaLimits& limits() const noexcept { return limits_; }
  const Source& source() const noexcept { return source_; }
  // Raises BadSchema where a type or default value is nested more deeply than allowed.
  void check_depth(std::size_t depth) const;
  // One more type, alias set or default value. Raises BadSchema past the limit.
  void count_node();
  // The name of the next anonymous write set.
  std::string fresh_set() { return '$' + std::to_string(fresh_sets_++); }

 private:
  const SchemaLimits limits_;
  const Source source_;
  Lexer lexer_;
  Token current_;
  std::size_t nodes_ = 0;
  std::size_t fresh_sets_ = 0;
};

// parse_type.cpp. `depth` counts the levels of the type; a base type has one.
struct ParsedType {
  TypePtr type;
  std::optional<AliasInfo> alias;
  std::size_t depth = 1;
};
ParsedType parse_type(Cursor& cursor, std::size_t outer_depth = 0);

// parse_default.cpp: the value behind "=", fitted to the type of its argument.
Value parse_default(Cursor& cursor, const Type& type);

}  // namespace opyard::detail
