// schema/parse.cpp: the words of a schema, and its names, arguments and results.
#include "opyard/schema/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "schema/cursor.h"

namespace opyard {
namespace detail {
namespace {

// Deeper than this is refused whatever the caller allows: the parser recurses.
constexpr std::size_t kMostNesting = 1024;

SchemaLimits bounded(SchemaLimits limits) {
  limits.nesting = std::min(limits.nesting, kMostNesting);
  return limits;
}

}  // namespace

Cursor::Cursor(std::string_view text, const SchemaLimits& limits)
    : limits_(bounded(limits)),
      source_(text, limits.bytes),
      lexer_(source_, limits.name_bytes),
      current_(lexer_.next()) {}

Token Cursor::take() {
  const Token token = current_;
  current_ = lexer_.next();
  return token;
}

bool Cursor::take_if(std::string_view symbol) {
  if (!current_.is(symbol)) return false;
  take();
  return true;
}

Token Cursor::expect(std::string_view symbol) {
  if (!current_.is(symbol)) fail_expected(fmt::format("'{}'", symbol));
  return take();
}

Token Cursor::expect_name(std::string_view what) {
  if (current_.kind != TokenKind::Name) fail_expected(what);
  return take();
}

void Cursor::expect_end() {
  if (current_.kind != TokenKind::End) fail_expected("the end");
}

void Cursor::fail_at(const Token& token, std::string_view message) const {
  source_.fail_at(token.offset, message);
}

void Cursor::fail_expected(std::string_view what) const {
  fail_at(current_, fmt::format("expected {} but found {}", what, describe(current_)));
}

void Cursor::check_depth(std::size_t depth) const {
  if (depth <= limits_.nesting) return;
  fail_at(current_, fmt::format("this is nested too deeply; the limit is {}", limits_.nesting));
}

void Cursor::count_node() {
  if (++nodes_ <= limits_.nodes) return;
  fail_at(current_, fmt::format("too many types, alias sets and default values; the limit is {}",
                                limits_.nodes));
}

namespace {

bool legal_overload(std::string_view name) {
  const bool dunder = name.size() >= 4 && name.starts_with("__") && name.ends_with("__");
  return name != "default" && !dunder;
}

OperatorName parse_name(Cursor& cursor) {
  OperatorName name;
  name.name = cursor.expect_name("an operator name").text;
  if (cursor.take_if("::")) {
    name.name += "::";
    name.name += cursor.expect_name("an operator name after '::'").text;
  }
  if (cursor.peek().is("::")) {
    cursor.fail_at(cursor.peek(), "found a second '::'; an operator name has one namespace");
  }
  if (cursor.take_if(".")) {
    const Token overload = cursor.expect_name("an overload name after '.'");
    if (!legal_overload(overload.text)) {
      cursor.fail_at(overload,
                     fmt::format("{} is not a legal overload name", shown(overload.text)));
    }
    name.overload = overload.text;
  }
  return name;
}

// The names of one list, to refuse a second argument of the same name.
class Names {
 public:
  void add(Cursor& cursor, const Token& name, const char* what) {
    if (taken_.insert(name.text).second) return;
    cursor.fail_at(name, fmt::format("a second {} is named {}", what, describe(name)));
  }

 private:
  std::unordered_set<std::string_view> taken_;
};

void check_count(Cursor& cursor, const std::vector<Argument>& list, const char* what) {
  const std::size_t limit = cursor.limits().arguments;
  if (list.size() < limit) return;
  cursor.fail_at(cursor.peek(), fmt::format("too many {}s; the limit is {}", what, limit));
}

// Arguments between "(" and ")", the latter included.
class ArgumentParser {
 public:
  ArgumentParser(Cursor& cursor, Schema& schema) : cursor_(cursor), schema_(schema) {}

  void parse() {
    cursor_.expect("(");
    if (cursor_.take_if(")")) return;
    do {
      if (parse_one()) break;
    } while (cursor_.take_if(","));
    if (star_ && !keyword_seen_) {
      cursor_.fail_at(*star_, "'*' is the last word; an argument must follow it");
    }
    cursor_.expect(")");
  }

 private:
  // True where this was "...", which ends the list.
  bool parse_one() {
    const Token first = cursor_.peek();
    if (cursor_.take_if("...")) {
      schema_.variadic_arguments = true;
      return true;
    }
    if (cursor_.take_if("*")) {
      if (star_) cursor_.fail_at(first, "'*' stands twice; it begins the keyword-only arguments");
      star_ = first;
      return false;
    }
    check_count(cursor_, schema_.arguments, "argument");
    parse_argument();
    return false;
  }

  void parse_argument() {
    ParsedType parsed = parse_type(cursor_);
    const Token name = cursor_.expect_name("an argument name");
    names_.add(cursor_, name, "argument");
    Argument argument{std::string(name.text), std::move(parsed.type), std::nullopt,
                      star_.has_value(), std::move(parsed.alias)};
    if (cursor_.take_if("=")) {
      argument.default_value = parse_default(cursor_, *argument.type);
      defaulted_ = name;
    } else if (!star_ && defaulted_) {
      cursor_.fail_at(name,
                      fmt::format("argument {} has no default value, but {} before it has "
                                  "one; give it one, or move it before {} or behind '*'",
                                  describe(name), describe(*defaulted_), describe(*defaulted_)));
    }
    keyword_seen_ = keyword_seen_ || star_.has_value();
    schema_.arguments.push_back(std::move(argument));
  }

  Cursor& cursor_;
  Schema& schema_;
  Names names_;
  std::optional<Token> star_;
  bool keyword_seen_ = false;
  std::optional<Token> defaulted_;  // the name of the last argument with a default value
};

void parse_result(Cursor& cursor, Schema& schema, Names& names) {
  check_count(cursor, schema.results, "result");
  ParsedType parsed = parse_type(cursor);
  Argument result;
  result.type = std::move(parsed.type);
  result.alias = std::move(parsed.alias);
  if (cursor.peek().kind == TokenKind::Name) {
    const Token name = cursor.take();
    names.add(cursor, name, "result");
    result.name = name.text;
  }
  if (cursor.peek().is("=")) cursor.fail_at(cursor.peek(), "a result has no default value");
  schema.results.push_back(std::move(result));
}

void parse_results(Cursor& cursor, Schema& schema) {
  Names names;
  if (cursor.take_if("...")) {
    schema.variadic_results = true;
    return;
  }
  if (!cursor.take_if("(")) return parse_result(cursor, schema, names);
  if (cursor.take_if(")")) return;
  if (cursor.take_if("...")) {
    schema.variadic_results = true;
  } else {
    do {
      parse_result(cursor, schema, names);
    } while (cursor.take_if(","));
  }
  cursor.expect(")");
}

}  // namespace
}  // namespace detail

Schema parse_schema(std::string_view text, const SchemaLimits& limits) {
  detail::Cursor cursor(text, limits);
  Schema schema;
  schema.name = detail::parse_name(cursor);
  detail::ArgumentParser(cursor, schema).parse();
  cursor.expect("->");
  detail::parse_results(cursor, schema);
  cursor.expect_end();
  return schema;
}

OperatorName parse_operator_name(std::string_view text, const SchemaLimits& limits) {
  detail::Cursor cursor(text, limits);
  OperatorName name = detail::parse_name(cursor);
  cursor.expect_end();
  return name;
}

}  // namespace opyard
