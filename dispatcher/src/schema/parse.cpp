// schema/parse.cpp: schema parser: names, arguments, results.
#include "opyard/schema/parse.h"

#include <fmt/format.h>

#include <unordered_set>

#include "schema/schema_cursor.h"

namespace opyard {
namespace detail {

constexpr std::string_view kSymbols[] = {"...", "::", "->", "(", ")", "[", "]", ",", "=",
                                         "?",   "!",  "|",  "*", "-", "+", ":", "."};
constexpr Language kSchemaLanguage = {.what = "schema",
                                      .nodes = "types, alias sets and default values",
                                      .error = ErrorKind::BadSchema,
                                      .symbols = kSymbols,
                                      .complex_sums = true};

SchemaCursor::SchemaCursor(std::string_view text, const SchemaLimits& limits, Faults& faults)
    : Cursor(text, kSchemaLanguage, limits, faults) {}

namespace {

bool legal_overload(std::string_view name) {
  const bool dunder = name.size() >= 4 && name.starts_with("__") && name.ends_with("__");
  return name != "default" && !dunder;
}

OperatorName parse_name(SchemaCursor& cursor) {
  OperatorName name;
  name.name = cursor.expect_name("an operator name").text;
  if (cursor.take_if("::")) {
    name.name += "::";
    name.name += cursor.expect_name("an operator name after '::'").text;
  }
  if (cursor.peek().is("::")) {
    cursor.fail_at(cursor.peek().span(), "found a second '::'; an operator name has one namespace");
  }
  const Token point = cursor.peek();
  if (cursor.take_if(".")) {
    const Token overload = cursor.expect_name("an overload name after '.'");
    if (!legal_overload(overload.text)) {
      // The unnamed overload is what "default" means elsewhere.
      std::optional<SchemaFix> fix;
      if (overload.text == "default") fix = SchemaFix{point.offset, overload.end(), ""};
      cursor.report(overload.span(),
                    fmt::format("{} is not a legal overload name", shown(overload.text)),
                    std::move(fix));
    }
    name.overload = overload.text;
  }
  return name;
}

// The names of one list, to refuse a second argument of the same name.
class ArgumentNames {
 public:
  void add(SchemaCursor& cursor, const Token& name, const char* what) {
    if (taken_.insert(name.text).second) return;
    cursor.report(name.span(),
                  fmt::format("a second {} is named {}; give one of the two another name", what,
                              describe(name)));
  }

 private:
  std::unordered_set<std::string_view> taken_;
};

void check_count(SchemaCursor& cursor, const std::vector<Argument>& list, const char* what) {
  const std::size_t limit = cursor.limits().items;
  if (list.size() < limit) return;
  cursor.fail_at(cursor.peek().span(), fmt::format("too many {}s; the limit is {}", what, limit));
}

// The alias sets from `first` on are on an argument or result of this name.
void name_marks(SchemaCursor& cursor, std::size_t first, std::string_view owner, bool on_result) {
  for (std::size_t i = first; i < cursor.marks().size(); ++i) {
    cursor.marks()[i].owner = owner;
    cursor.marks()[i].on_result = on_result;
  }
}

// Arguments between "(" and ")", the latter included.
class ArgumentParser {
 public:
  ArgumentParser(SchemaCursor& cursor, Schema& schema) : cursor_(cursor), schema_(schema) {}

  void parse() {
    cursor_.expect("(");
    if (cursor_.take_if(")")) return;
    do {
      parse_one();
      before_comma_ = cursor_.last_end();
    } while (!schema_.variadic_arguments && cursor_.take_if(","));
    const bool whole = cursor_.peek().is(")");
    if (star_ && !keyword_seen_ && !second_star_ && whole) report_idle_star();
    if (required_) report_required();
    if (!whole && !schema_.variadic_arguments) cursor_.fail_expected("',' or ')'");
    cursor_.expect(")");
  }

 private:
  void parse_one() {
    const Token first = cursor_.peek();
    if (cursor_.take_if("...")) {
      schema_.variadic_arguments = true;
    } else if (cursor_.take_if("*")) {
      note_star(first);
    } else {
      check_count(cursor_, schema_.arguments, "argument");
      parse_argument();
      keyword_seen_ = keyword_seen_ || star_.has_value();
    }
  }

  void note_star(const Token& star) {
    second_star_ = star_.has_value();
    if (second_star_) {
      cursor_.report(star.span(), "'*' is written twice; it begins the keyword-only arguments",
                     without_star(star));
    } else {
      star_ = star;
      star_fix_ = without_star(star);
    }
  }

  // The star goes with the comma before it, else with the one behind it.
  SchemaFix without_star(const Token& star) const {
    if (before_comma_ > 0) return {before_comma_, star.end(), ""};
    return {star.offset, cursor_.peek().is(",") ? cursor_.peek().end() : star.end(), ""};
  }

  void parse_argument() {
    const std::size_t first_mark = cursor_.marks().size();
    ParsedType parsed = parse_type(cursor_);
    if (!parsed.known && cursor_.peek().kind != TokenKind::Name) {
      cursor_.marks().resize(first_mark);
      return;
    }
    const Token name = cursor_.expect_name("an argument name");
    names_.add(cursor_, name, "argument");
    name_marks(cursor_, first_mark, name.text, false);
    Argument argument{std::string(name.text), parsed.type, std::nullopt, star_.has_value(),
                      parsed.alias};
    if (cursor_.take_if("=")) {
      argument.default_value = parse_default(cursor_, parsed);
      defaulted_ = name;
    } else if (!star_ && defaulted_ && !required_) {
      required_ = name;
      required_after_ = *defaulted_;
      required_type_ = parsed.span;
    }
    schema_.arguments.push_back(std::move(argument));
  }

  void report_idle_star() {
    cursor_.report(star_->span(), "'*' is the last word; an argument must follow it", star_fix_);
  }

  void report_required() {
    std::optional<SchemaFix> fix;
    if (!star_) {
      fix = SchemaFix{required_type_.begin, required_type_.end,
                      "*, " + std::string(cursor_.text(required_type_))};
    }
    const std::string before = describe(required_after_);
    cursor_.report(
        required_->span(),
        fmt::format("argument {} has no default value, but {} before it has one; give it one, or "
                    "move it before {} or behind '*'",
                    describe(*required_), before, before),
        std::move(fix));
  }

  SchemaCursor& cursor_;
  Schema& schema_;
  ArgumentNames names_;
  std::size_t before_comma_ = 0;  // where the word before the last comma ends
  std::optional<Token> star_;
  SchemaFix star_fix_;
  bool second_star_ = false;
  bool keyword_seen_ = false;
  std::optional<Token> defaulted_;  // the name of the last argument with a default value
  std::optional<Token> required_;   // of the first positional one behind it that has none
  Token required_after_;
  Span required_type_;
};

void parse_result(SchemaCursor& cursor, Schema& schema, ArgumentNames& names) {
  check_count(cursor, schema.results, "result");
  const std::size_t first_mark = cursor.marks().size();
  ParsedType parsed = parse_type(cursor);
  Argument result;
  result.type = parsed.type;
  result.alias = parsed.alias;
  if (cursor.peek().kind == TokenKind::Name) {
    const Token name = cursor.take();
    names.add(cursor, name, "result");
    result.name = name.text;
  }
  name_marks(cursor, first_mark, result.name, true);
  const Token equals = cursor.peek();
  if (cursor.take_if("=")) {
    cursor.skip_item();
    cursor.report(equals.span(), "a result has no default value",
                  SchemaFix{equals.offset, cursor.last_end(), ""});
  }
  schema.results.push_back(std::move(result));
}

void parse_results(SchemaCursor& cursor, Schema& schema) {
  ArgumentNames names;
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
    if (!cursor.peek().is(")")) cursor.fail_expected("',' or ')'");
  }
  cursor.expect(")");
}

void parse_whole(SchemaCursor& cursor, Schema& schema) {
  schema.name = parse_name(cursor);
  ArgumentParser(cursor, schema).parse();
  if (!cursor.take_if("->")) cursor.fail_expected("'->' and the results, or '-> ()' for none,");
  parse_results(cursor, schema);
  cursor.expect_end();
  check_alias_sets(cursor);
}

void parse_whole(SchemaCursor& cursor, OperatorName& name) {
  name = parse_name(cursor);
  cursor.expect_end();
}

// Reads the whole text as far as it can be read.
template <typename Result>
Faults read_whole(std::string_view text, const SchemaLimits& limits, Result& result) {
  Faults faults(text, kSchemaLanguage, limits);
  try {
    SchemaCursor cursor(text, limits, faults);
    parse_whole(cursor, result);
  } catch (const GiveUp&) {
    // What ended the reading is among the faults.
  }
  return faults;
}

}  // namespace
}  // namespace detail

Schema parse_schema(std::string_view text, const SchemaLimits& limits) {
  Schema schema;
  detail::read_whole(text, limits, schema).raise_if_any();
  return schema;
}

std::vector<SchemaFault> find_schema_faults(std::string_view text, const SchemaLimits& limits) {
  Schema schema;
  return detail::read_whole(text, limits, schema).sorted();
}

OperatorName parse_operator_name(std::string_view text, const SchemaLimits& limits) {
  OperatorName name;
  detail::read_whole(text, limits, name).raise_if_any();
  return name;
}

}  // namespace opyard
