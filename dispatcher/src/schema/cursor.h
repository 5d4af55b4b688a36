// schema/cursor.h: a place in a schema text, one word ahead, and what reading may cost.
//
// The parts of the parser share one cursor: parse.cpp reads names, arguments and results,
// parse_type.cpp types and alias sets, parse_default.cpp default values; check_sets.cpp looks
// at all alias sets when everything is read.
//
// Depends on: schema/faults.h, schema/lexer.h, schema/parse.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/schema/parse.h"
#include "schema/faults.h"
#include "schema/lexer.h"

namespace opyard::detail {

// An alias set as it is written on an argument or result; those of a bare "!" are not kept,
// since nothing shares them.
struct SetMark {
  AliasInfo sets;
  TypePtr type;            // that of the value in the sets
  Span span;               // from "(" to ")"
  std::string_view owner;  // the name of the argument; of a result, what stands there or nothing
  bool on_result;
};

class Cursor {
 public:
  // Throws GiveUp, as all that moves on, where the text has no word here.
  Cursor(std::string_view text, const SchemaLimits& limits, Faults& faults);
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  const Token& peek() const noexcept { return current_; }
  // Where the word before this one ended.
  std::size_t last_end() const noexcept { return last_end_; }
  Token take();
  bool take_if(std::string_view symbol);
  // Each fails where another word stands here.
  Token expect(std::string_view symbol);
  Token expect_name(std::string_view what);
  // What closes a list, behind an item of it: a "," could stand here, too.
  Token expect_close(std::string_view symbol);
  void expect_end();
  // Passes over the rest of an argument, result or element: up to a "," or ")" behind it, a
  // "->" or the end. What stands there is not judged.
  void skip_item();

  void report(Span span, std::string message, std::optional<SchemaFix> fix = std::nullopt) {
    faults_.report(span, std::move(message), std::move(fix));
  }
  [[noreturn]] void fail_at(Span span, std::string message) const;
  // "expected <what> but found <the word here>".
  [[noreturn]] void fail_expected(std::string_view what) const;

  std::string_view text(Span span) const { return text_.substr(span.begin, span.end - span.begin); }
  const SchemaLimits& limits() const noexcept { return limits_; }
  // Fails where a type or default value is nested more deeply than allowed.
  void check_depth(std::size_t depth) const;
  // One more type, alias set or default value. Fails past the limit.
  void count_node();
  // The name of the next anonymous write set.
  std::string fresh_set() { return '$' + std::to_string(fresh_sets_++); }
  std::vector<SetMark>& marks() noexcept { return marks_; }

 private:
  void advance();

  const SchemaLimits limits_;
  const std::string_view text_;
  Faults& faults_;
  Lexer lexer_;
  Token current_;
  std::size_t last_end_ = 0;
  bool skipping_ = false;
  std::size_t nodes_ = 0;
  std::size_t fresh_sets_ = 0;
  std::vector<SetMark> marks_;
};

// parse_type.cpp. `depth` counts the levels of the type; a base type has one. A type that is
// not known has been reported; the rest of its argument is passed over.
struct ParsedType {
  TypePtr type;
  std::optional<AliasInfo> alias;
  std::size_t depth = 1;
  bool known = true;
  Span span;
};
ParsedType parse_type(Cursor& cursor, std::size_t outer_depth = 0);

// parse_default.cpp: the value behind "=", fitted to the type of its argument; None where it
// does not fit, which has then been reported.
Value parse_default(Cursor& cursor, const ParsedType& type);

// check_sets.cpp: reports alias sets that contradict each other.
void check_alias_sets(Cursor& cursor);

}  // namespace opyard::detail
