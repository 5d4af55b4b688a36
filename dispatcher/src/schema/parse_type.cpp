// schema/parse_type.cpp: schema parser: types and alias sets.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "schema/schema_cursor.h"
#include "schema/unknown_type.h"

namespace opyard::detail {
namespace {

// Where `|name` would be taken out of a set: from the word before the bar.
void report_repeated(SchemaCursor& cursor, const Token& name, std::size_t before_bar) {
  cursor.report(name.span(), fmt::format("alias set {} is written twice", describe(name)),
                SchemaFix{before_bar, name.end(), ""});
}

// A set of aliases: "*", or names between bars.
std::vector<std::string> parse_set(SchemaCursor& cursor) {
  if (cursor.take_if("*")) return {"*"};
  std::vector<std::string> set;
  std::size_t before_bar = 0;
  do {
    cursor.count_node();
    const Token name = cursor.expect_name("the name of an alias set");
    if (std::find(set.begin(), set.end(), name.text) != set.end()) {
      report_repeated(cursor, name, before_bar);
    }
    if (set.size() == cursor.limits().items) {
      cursor.fail_at(name.span(), fmt::format("too many alias sets; the limit is {}", set.size()));
    }
    set.emplace_back(name.text);
    before_bar = cursor.last_end();
  } while (cursor.take_if("|"));
  return set;
}

// The sets behind a type.
std::optional<AliasInfo> parse_alias(SchemaCursor& cursor, const TypePtr& type) {
  AliasInfo alias;
  const std::size_t begin = cursor.peek().offset;
  if (cursor.take_if("!")) {
    cursor.count_node();
    alias.is_write = true;
    alias.before = {cursor.fresh_set()};
    alias.after = alias.before;
    return alias;
  }
  if (!cursor.take_if("(")) return std::nullopt;
  alias.before = parse_set(cursor);
  alias.is_write = cursor.take_if("!");
  alias.after = cursor.take_if("->") ? parse_set(cursor) : alias.before;
  cursor.expect(")");
  cursor.marks().push_back({alias, type, {begin, cursor.last_end()}, {}, false});
  return alias;
}

// The elements of a compound type up to its ")", with their alias sets and greatest depth.
struct Elements {
  std::vector<TypePtr> types;
  std::vector<AliasInfo> sets;
  bool has_sets = false;
  bool known = true;
  std::size_t depth = 0;
};

Elements parse_elements(SchemaCursor& cursor, std::size_t outer_depth) {
  Elements elements;
  do {
    ParsedType parsed = parse_type(cursor, outer_depth + 1);
    elements.types.push_back(std::move(parsed.type));
    elements.has_sets = elements.has_sets || parsed.alias.has_value();
    elements.sets.push_back(parsed.alias ? std::move(*parsed.alias) : AliasInfo{});
    elements.known = elements.known && parsed.known;
    elements.depth = std::max(elements.depth, parsed.depth);
  } while (cursor.take_if(","));
  cursor.expect_close(")");
  return elements;
}

std::optional<TypeKind> compound_kind(const Token& token) {
  if (token.is("(")) return TypeKind::Tuple;
  if (token.is_name("Dict")) return TypeKind::Dict;
  if (token.is_name("Future")) return TypeKind::Future;
  if (token.is_name("RRef")) return TypeKind::RRef;
  if (token.is_name("Await")) return TypeKind::Await;
  if (token.is_name("Union")) return TypeKind::Union;
  return std::nullopt;
}

// What is wrong with the elements of a compound type, or nothing.
std::string element_fault(const Token& first, TypeKind kind, const Elements& elements) {
  const std::size_t count = elements.types.size();
  const std::size_t wanted = kind == TypeKind::Dict ? 2 : 1;
  if (kind == TypeKind::Tuple) return {};
  if (kind != TypeKind::Union) {
    if (count == wanted) return {};
    return fmt::format("{} has {} element type{} but {} {} given", describe(first), wanted,
                       wanted == 1 ? "" : "s", count, count == 1 ? "was" : "were");
  }
  // The members of a union are sorted, so sets inside would lose their places.
  if (elements.has_sets) {
    return "alias sets inside a 'Union' are not supported; write one behind it";
  }
  const bool one_type = std::all_of(elements.types.begin(), elements.types.end(), [&](auto& type) {
    return equal(*type, *elements.types.front());
  });
  return one_type ? "a 'Union' has two or more different types" : "";
}

ParsedType parse_compound(SchemaCursor& cursor, TypeKind kind, std::size_t outer_depth) {
  const Token first = cursor.take();
  if (kind != TypeKind::Tuple) cursor.expect("(");
  Elements elements = parse_elements(cursor, outer_depth);
  ParsedType parsed;
  parsed.depth = elements.depth + 1;
  parsed.known = elements.known;
  if (parsed.known) {
    std::string fault = element_fault(first, kind, elements);
    parsed.known = fault.empty();
    if (!fault.empty()) cursor.report({first.offset, cursor.last_end()}, std::move(fault));
  }
  if (!parsed.known) {
    parsed.type = base_type(TypeKind::Any);
    return parsed;
  }
  parsed.type = compound_type(kind, std::move(elements.types));
  if (elements.has_sets) {
    parsed.alias.emplace();
    parsed.alias->contained = std::move(elements.sets);
  }
  return parsed;
}

ParsedType parse_named(SchemaCursor& cursor) {
  const Token first = cursor.take();
  std::string name(first.text);
  while (cursor.take_if(".")) {
    name += '.';
    name += cursor.expect_name("a name after '.'").text;
    if (name.size() > cursor.limits().name_bytes) {
      cursor.fail_at({first.offset, cursor.last_end()},
                     fmt::format("a name of {} bytes is too long; the limit is {}", name.size(),
                                 cursor.limits().name_bytes));
    }
  }
  ParsedType parsed;
  parsed.type = find_type(name);
  if (parsed.type == nullptr) {
    parsed.known = false;
    parsed.type = base_type(TypeKind::Any);
    report_unknown_type(cursor, {first.offset, cursor.last_end()}, name);
    cursor.skip_item();
  }
  return parsed;
}

ParsedType parse_simple(SchemaCursor& cursor, std::size_t outer_depth) {
  cursor.check_depth(outer_depth + 1);
  if (const auto kind = compound_kind(cursor.peek())) {
    return parse_compound(cursor, *kind, outer_depth);
  }
  if (cursor.peek().kind != TokenKind::Name) cursor.fail_expected("a type");
  return parse_named(cursor);
}

// The sets behind a type join those of its elements.
void add_sets(ParsedType& parsed, std::optional<AliasInfo> sets) {
  if (!sets) return;
  if (parsed.alias) sets->contained = std::move(parsed.alias->contained);
  parsed.alias = std::move(sets);
}

// The number between "[" and "]", or 0 if there is none.
std::int64_t parse_size_hint(SchemaCursor& cursor) {
  if (cursor.peek().kind != TokenKind::Integer) return 0;
  const Token token = cursor.take();
  std::int32_t size = 0;
  const auto [end, error] =
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), size);
  if (error == std::errc() && size >= 1) return size;
  cursor.report(token.span(),
                fmt::format("{} is no size of a list; it is between 1 and {}", describe(token),
                            std::numeric_limits<std::int32_t>::max()));
  return 1;
}

void parse_list(SchemaCursor& cursor, ParsedType& parsed) {
  cursor.expect("[");
  const std::int64_t size_hint = parse_size_hint(cursor);
  cursor.expect("]");
  parsed.type = list_of(std::move(parsed.type), size_hint);
  if (parsed.alias) {
    AliasInfo outer;
    outer.contained.push_back(std::move(*parsed.alias));
    parsed.alias = std::move(outer);
  }
  add_sets(parsed, parse_alias(cursor, parsed.type));
}

}  // namespace

ParsedType parse_type(SchemaCursor& cursor, std::size_t outer_depth) {
  cursor.count_node();
  const std::size_t begin = cursor.peek().offset;
  ParsedType parsed = parse_simple(cursor, outer_depth);
  add_sets(parsed, parse_alias(cursor, parsed.type));
  while (cursor.peek().is("[") || cursor.peek().is("?")) {
    cursor.count_node();
    cursor.check_depth(outer_depth + ++parsed.depth);
    const Token word = cursor.peek();
    if (word.is("[")) {
      parse_list(cursor, parsed);
      continue;
    }
    if (parsed.type->kind() == TypeKind::Optional) {
      cursor.report(word.span(), "'?' is written twice", SchemaFix{word.offset, word.end(), ""});
    }
    cursor.expect("?");
    parsed.type = optional_of(std::move(parsed.type));
  }
  parsed.span = {begin, cursor.last_end()};
  return parsed;
}

}  // namespace opyard::detail
