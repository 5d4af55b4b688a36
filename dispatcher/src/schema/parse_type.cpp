// schema/parse_type.cpp: types, with the alias sets that stand behind them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "schema/base_types.h"
#include "schema/cursor.h"

namespace opyard::detail {
namespace {

// What people write who think of C++ or Python, and what they mean.
struct Hint {
  std::string_view written;
  std::string_view advice;
};
constexpr std::string_view kIntAdvice = "write 'int' or 'SymInt'";
constexpr std::string_view kFloatAdvice = "write 'float'";
constexpr std::string_view kListAdvice = "write 'T[]', such as 'int[]'";
constexpr Hint kHints[] = {
    {"int64_t", kIntAdvice},
    {"int32_t", kIntAdvice},
    {"int16_t", kIntAdvice},
    {"int8_t", kIntAdvice},
    {"uint8_t", kIntAdvice},
    {"size_t", kIntAdvice},
    {"long", kIntAdvice},
    {"int64", kIntAdvice},
    {"int32", kIntAdvice},
    {"Int", kIntAdvice},
    {"double", kFloatAdvice},
    {"Float", kFloatAdvice},
    {"Double", kFloatAdvice},
    {"float32", kFloatAdvice},
    {"float64", kFloatAdvice},
    {"Bool", "write 'bool'"},
    {"boolean", "write 'bool'"},
    {"string", "write 'str'"},
    {"String", "write 'str'"},
    {"Str", "write 'str'"},
    {"string_view", "write 'str'"},
    {"tensor", "write 'Tensor'"},
    {"torch.Tensor", "write 'Tensor'"},
    {"opyard.Tensor", "write 'Tensor'"},
    {"Tensors", "write 'Tensor[]'"},
    {"TensorList", "write 'Tensor[]'"},
    {"IntArrayRef", "write 'int[]'"},
    {"list", kListAdvice},
    {"List", kListAdvice},
    {"vector", kListAdvice},
    {"Sequence", kListAdvice},
    {"Optional", "write 'T?', such as 'Tensor?'"},
    {"optional", "write 'T?', such as 'Tensor?'"},
    {"tuple", "write '(A, B)'"},
    {"Tuple", "write '(A, B)'"},
    {"dict", "write 'Dict(K, V)'"},
    {"scalar", "write 'Scalar'"},
    {"Number", "write 'Scalar'"},
    {"dtype", "write 'ScalarType'"},
    {"torch.dtype", "write 'ScalarType'"},
    {"device", "write 'Device'"},
    {"layout", "write 'Layout'"},
    {"generator", "write 'Generator'"},
    {"any", "write 'Any'"},
    {"void", "write '()' for no result"},
    {"None", "write 'NoneType', or '()' for no result"},
    {"std", "types of C++ have other names here, such as 'int', 'float', 'str' and 'T[]'"},
};
constexpr std::string_view kCommonTypes =
    "common types are Tensor, int, float, bool, str, Scalar, SymInt, Device, ScalarType, and "
    "T[] or T? of them";

constexpr std::string_view kClassPrefix = "__torch__.torch.classes.";

[[noreturn]] void fail_unknown(const Cursor& cursor, const Token& token, std::string_view name) {
  if (name.starts_with(kClassPrefix)) {
    cursor.fail_at(token, fmt::format("Unknown custom class type {}. Please ensure it is "
                                      "registered.",
                                      shown(name.substr(kClassPrefix.size()))));
  }
  for (const Hint& hint : kHints) {
    if (hint.written == name) {
      cursor.fail_at(token, fmt::format("unknown type '{}'; {}", name, hint.advice));
    }
  }
  cursor.fail_at(token, fmt::format("unknown type '{}'; {}", shown(name), kCommonTypes));
}

bool is_hinted(std::string_view name) {
  return std::any_of(std::begin(kHints), std::end(kHints),
                     [&](const Hint& hint) { return hint.written == name; });
}

// A set of aliases: "*", or names between bars.
std::vector<std::string> parse_set(Cursor& cursor) {
  if (cursor.take_if("*")) return {"*"};
  std::vector<std::string> set;
  do {
    cursor.count_node();
    const Token name = cursor.expect_name("the name of an alias set");
    if (std::find(set.begin(), set.end(), name.text) != set.end()) {
      cursor.fail_at(name, fmt::format("alias set {} stands twice", describe(name)));
    }
    if (set.size() == cursor.limits().arguments) {
      cursor.fail_at(name, fmt::format("too many alias sets; the limit is {}", set.size()));
    }
    set.emplace_back(name.text);
  } while (cursor.take_if("|"));
  return set;
}

std::optional<AliasInfo> parse_alias(Cursor& cursor) {
  AliasInfo alias;
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
  return alias;
}

// The elements of a compound type up to its ")", with their alias sets and greatest depth.
struct Elements {
  std::vector<TypePtr> types;
  std::vector<AliasInfo> sets;
  bool has_sets = false;
  std::size_t depth = 0;
};

Elements parse_elements(Cursor& cursor, std::size_t outer_depth) {
  Elements elements;
  do {
    ParsedType parsed = parse_type(cursor, outer_depth + 1);
    elements.types.push_back(std::move(parsed.type));
    elements.has_sets = elements.has_sets || parsed.alias.has_value();
    elements.sets.push_back(parsed.alias ? std::move(*parsed.alias) : AliasInfo{});
    elements.depth = std::max(elements.depth, parsed.depth);
  } while (cursor.take_if(","));
  cursor.expect(")");
  return elements;
}

std::optional<TypeKind> compound_kind(const Token& token) {
  if (token.is("(")) return TypeKind::Tuple;
  if (token.is_name("Dict")) return TypeKind::Dict;
  if (token.is_name("Future")) return TypeKind::Future;
  if (token.is_name("RRef")) return TypeKind::RRef;
  if (token.is_name("Union")) return TypeKind::Union;
  return std::nullopt;
}

void check_elements(const Cursor& cursor, const Token& first, TypeKind kind,
                    const Elements& elements) {
  const std::size_t wanted = kind == TypeKind::Dict ? 2 : 1;
  const bool counted = kind == TypeKind::Dict || kind == TypeKind::Future || kind == TypeKind::RRef;
  if (counted && elements.types.size() != wanted) {
    cursor.fail_at(first, fmt::format("{} has {} element type{} but {} {} given", describe(first),
                                      wanted, wanted == 1 ? "" : "s", elements.types.size(),
                                      elements.types.size() == 1 ? "was" : "were"));
  }
  if (kind != TypeKind::Union) return;
  // The members of a union are sorted, so sets inside would lose their places.
  if (elements.has_sets) {
    cursor.fail_at(first, "alias sets inside a 'Union' are not supported; write one behind it");
  }
  const bool one_type = std::all_of(elements.types.begin(), elements.types.end(), [&](auto& type) {
    return equal(*type, *elements.types.front());
  });
  if (one_type) cursor.fail_at(first, "a 'Union' has two or more different types");
}

ParsedType parse_compound(Cursor& cursor, TypeKind kind, std::size_t outer_depth) {
  const Token first = cursor.take();
  if (kind != TypeKind::Tuple) cursor.expect("(");
  Elements elements = parse_elements(cursor, outer_depth);
  check_elements(cursor, first, kind, elements);
  ParsedType parsed;
  parsed.type = compound_type(kind, std::move(elements.types));
  parsed.depth = elements.depth + 1;
  if (elements.has_sets) {
    parsed.alias.emplace();
    parsed.alias->contained = std::move(elements.sets);
  }
  return parsed;
}

TypePtr parse_named(Cursor& cursor) {
  const Token first = cursor.take();
  std::string name(first.text);
  while (cursor.take_if(".")) {
    name += '.';
    name += cursor.expect_name("a name after '.'").text;
    if (name.size() > cursor.limits().name_bytes) {
      cursor.fail_at(first, fmt::format("a name of {} bytes is too long; the limit is {}",
                                        name.size(), cursor.limits().name_bytes));
    }
  }
  if (name == "number") return base_type(TypeKind::Scalar);
  for (int i = 0; i < kBaseTypeCount; ++i) {
    if (name == base_entry(TypeKind(i)).text) return base_type(TypeKind(i));
  }
  const bool variable = name.front() == 't' && name.find('.') == std::string::npos;
  if (variable && !is_hinted(name)) return named_type(TypeKind::Variable, std::move(name));
  fail_unknown(cursor, first, name);
}

ParsedType parse_simple(Cursor& cursor, std::size_t outer_depth) {
  cursor.check_depth(outer_depth + 1);
  if (const auto kind = compound_kind(cursor.peek())) {
    return parse_compound(cursor, *kind, outer_depth);
  }
  if (cursor.peek().kind != TokenKind::Name) cursor.fail_expected("a type");
  ParsedType parsed;
  parsed.type = parse_named(cursor);
  return parsed;
}

// The sets behind a type join those of its elements.
void add_sets(ParsedType& parsed, std::optional<AliasInfo> sets) {
  if (!sets) return;
  if (parsed.alias) sets->contained = std::move(parsed.alias->contained);
  parsed.alias = std::move(sets);
}

// The number between "[" and "]", or 0 where there is none.
std::int64_t parse_size_hint(Cursor& cursor) {
  if (cursor.peek().kind != TokenKind::Integer) return 0;
  const Token token = cursor.take();
  std::int32_t size = 0;
  const auto [end, error] =
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), size);
  if (error != std::errc() || size < 1) {
    cursor.fail_at(token, fmt::format("{} is no size of a list; it lies between 1 and {}",
                                      describe(token), std::numeric_limits<std::int32_t>::max()));
  }
  return size;
}

void parse_list(Cursor& cursor, ParsedType& parsed) {
  cursor.expect("[");
  const std::int64_t size_hint = parse_size_hint(cursor);
  cursor.expect("]");
  parsed.type = list_of(std::move(parsed.type), size_hint);
  if (parsed.alias) {
    AliasInfo outer;
    outer.contained.push_back(std::move(*parsed.alias));
    parsed.alias = std::move(outer);
  }
  add_sets(parsed, parse_alias(cursor));
}

}  // namespace

ParsedType parse_type(Cursor& cursor, std::size_t outer_depth) {
  cursor.count_node();
  ParsedType parsed = parse_simple(cursor, outer_depth);
  add_sets(parsed, parse_alias(cursor));
  while (cursor.peek().is("[") || cursor.peek().is("?")) {
    cursor.count_node();
    cursor.check_depth(outer_depth + ++parsed.depth);
    if (cursor.peek().is("[")) {
      parse_list(cursor, parsed);
      continue;
    }
    if (parsed.type->kind() == TypeKind::Optional) {
      cursor.fail_at(cursor.peek(), "'?' stands twice");
    }
    cursor.expect("?");
    parsed.type = optional_of(std::move(parsed.type));
  }
  return parsed;
}

}  // namespace opyard::detail
