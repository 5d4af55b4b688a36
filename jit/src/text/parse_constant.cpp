// text/parse_constant.cpp: parsing attribute values.
#include <fmt/format.h>

#include <algorithm>

#include "opyard/detail/text/literal.h"
#include "opyard/detail/value/dict_object.h"
#include "opyard/value/cast.h"
#include "text/generator_text.h"
#include "text/graph_language.h"

namespace opyard::jit::detail {

using opyard::detail::read_integer;
using opyard::detail::read_real;

opyard::Value parse_number(Cursor& cursor) {
  const std::size_t begin = cursor.peek().offset;
  const bool negative = cursor.take_if("-");
  if (!negative) cursor.take_if("+");
  const Token token = cursor.take();
  const Span span{begin, token.end()};
  if (token.kind == TokenKind::Integer) {
    const auto number = read_integer(token.text, negative);
    if (!number) cursor.fail_at(span, "an int has 64 bits; this number is too large");
    return opyard::Value(*number);
  }
  if (token.kind == TokenKind::Real || token.is_name("inf") || token.is_name("nan")) {
    const auto number = read_real(token.text, negative);
    if (!number) cursor.fail_at(span, "this number is too large for a float");
    return opyard::Value(*number);
  }
  if (token.kind != TokenKind::Complex) {
    cursor.fail_at(token.span(), fmt::format("expected a number but found {}", describe(token)));
  }
  const opyard::detail::ComplexDigits digits = opyard::detail::split_complex(token);
  const auto real =
      read_real(digits.real.empty() ? "0" : digits.real, negative && !digits.real.empty());
  const auto imaginary =
      read_real(digits.imaginary, digits.imaginary_negative != (negative && digits.real.empty()));
  if (!real || !imaginary) cursor.fail_at(span, "this number is too large for a float");
  return opyard::Value(std::complex<double>(*real, *imaginary));
}

namespace {

opyard::Value parse_text(Cursor& cursor) {
  const Token token = cursor.take();
  opyard::detail::Unquoted text = opyard::detail::unquote(token);
  if (text.wrong) cursor.fail_at(*text.wrong, "this escape is unknown");
  return opyard::Value(std::string_view(text.text));
}

// {1} is a tensor, {"a": 1} a dict, {} an empty one.
opyard::Value parse_braces(Cursor& cursor, const ConstantContext& context, std::size_t depth) {
  const std::size_t begin = cursor.peek().offset;
  cursor.expect("{");
  if (cursor.take_if("}")) return opyard::Value::dict({});
  std::vector<std::pair<opyard::Value, opyard::Value>> entries;
  do {
    opyard::Value key = parse_literal_value(cursor, context, depth + 1);
    if (entries.empty() && cursor.peek().is("}") &&
        (key.is_int() || key.is_double() || key.is_bool())) {
      cursor.take();
      return opyard::Value(tensor_of(cursor, {begin, cursor.last_end()}, key, context.type));
    }
    cursor.expect(":");
    entries.emplace_back(std::move(key), parse_literal_value(cursor, context, depth + 1));
    if (entries.size() > cursor.limits().items) cursor.fail_expected("a shorter dict");
  } while (cursor.take_if(","));
  cursor.expect_close("}");
  try {
    return opyard::Value::dict(std::move(entries));
  } catch (const Error& error) {
    cursor.fail_at({begin, cursor.last_end()}, error.what());
  }
}

// <Tensor>
opyard::Value parse_elided(Cursor& cursor, const ConstantContext& context) {
  const std::size_t begin = cursor.peek().offset;
  cursor.expect("<");
  const Token word = cursor.expect_name("'Tensor'");
  cursor.expect(">");
  const Span span{begin, cursor.last_end()};
  if (word.text != "Tensor") {
    cursor.fail_at(span, fmt::format("<{}> stands for something that the text does not have",
                                     opyard::detail::shown(word.text)));
  }
  return opyard::Value(context.next_tensor(span));
}

opyard::Value parse_items(Cursor& cursor, const ConstantContext& context, std::size_t depth) {
  const bool tuple = cursor.peek().is("(");
  std::vector<opyard::Value> items;
  parse_list(cursor, tuple ? "(" : "[", tuple ? ")" : "]",
             [&] { items.push_back(parse_literal_value(cursor, context, depth + 1)); });
  return tuple ? opyard::Value::tuple(std::move(items)) : opyard::Value::list(std::move(items));
}

// "annotate(List[int], [])": the empty list, whose type the output says.
opyard::Value parse_annotated(Cursor& cursor, const ConstantContext& context, std::size_t depth) {
  cursor.take();
  cursor.expect("(");
  std::size_t open = 0;
  while (open > 0 || !cursor.peek().is(",")) {
    if (cursor.peek().kind == TokenKind::End) cursor.fail_expected("','");
    const Token token = cursor.take();
    if (token.is("[")) ++open;
    if (token.is("]") && open > 0) --open;
  }
  cursor.take();
  opyard::Value value = parse_literal_value(cursor, context, depth + 1);
  cursor.expect_close(")");
  return value;
}

bool all_are(const std::vector<opyard::Value>& items, std::initializer_list<Kind> kinds) {
  return std::all_of(items.begin(), items.end(), [&](const opyard::Value& item) {
    return std::find(kinds.begin(), kinds.end(), item.kind()) != kinds.end();
  });
}

AttributeValue attribute_of_items(const opyard::Value& list) {
  const std::vector<opyard::Value>& items = list.items_unchecked();
  if (items.empty()) return std::vector<std::int64_t>();
  if (all_are(items, {Kind::Int})) return list.to<std::vector<std::int64_t>>();
  if (all_are(items, {Kind::String})) return list.to<std::vector<std::string>>();
  if (all_are(items, {Kind::Tensor})) return list.to<std::vector<Tensor>>();
  if (all_are(items, {Kind::Int, Kind::Double})) {
    std::vector<double> numbers;
    for (const opyard::Value& item : items) {
      numbers.push_back(item.is_int() ? double(item.to_int()) : item.to_double());
    }
    return numbers;
  }
  if (all_are(items, {Kind::Complex})) return list.to<std::vector<std::complex<double>>>();
  return list;
}

}  // namespace

opyard::Value parse_literal_value(Cursor& cursor, const ConstantContext& context,
                                  std::size_t depth) {
  cursor.check_depth(depth);
  cursor.count_node();
  const Token& token = cursor.peek();
  if (token.is("[") || token.is("(")) return parse_items(cursor, context, depth);
  if (token.is("{")) return parse_braces(cursor, context, depth);
  if (token.is("<")) return parse_elided(cursor, context);
  if (token.kind == TokenKind::Text) return parse_text(cursor);
  if (cursor.take_if_name("True")) return opyard::Value(true);
  if (cursor.take_if_name("False")) return opyard::Value(false);
  if (cursor.take_if_name("None")) return {};
  if (begins_generator(cursor)) return parse_generator(cursor);
  if (token.is_name("annotate")) return parse_annotated(cursor, context, depth);
  if (token.kind == TokenKind::Name && !token.is_name("inf") && !token.is_name("nan")) {
    cursor.fail_expected("a literal");
  }
  return parse_number(cursor);
}

AttributeValue parse_attribute(Cursor& cursor, const ConstantContext& context) {
  if (begins_type(cursor.peek())) return parse_type(cursor);
  if (cursor.peek().is("[") && begins_type(cursor.peek_second())) {
    std::vector<TypePtr> types;
    parse_list(cursor, "[", "]", [&] { types.push_back(parse_type(cursor)); });
    return types;
  }
  const std::size_t begin = cursor.peek().offset;
  if (is_printed_tensor(cursor)) return parse_printed_tensor(cursor, context.type, begin, {});
  const opyard::Value value = parse_literal_value(cursor, context);
  if ((value.is_int() || value.is_double()) && is_printed_tensor_behind_number(cursor)) {
    const double first = value.is_int() ? double(value.to_int()) : value.to_double();
    return parse_printed_tensor(cursor, context.type, begin, {first});
  }
  switch (value.kind()) {
    case Kind::Int:
      return value.to_int();
    case Kind::Bool:
      return std::int64_t{value.to_bool()};
    case Kind::Double:
      return value.to_double();
    case Kind::Complex:
      return value.to_complex();
    case Kind::String:
      return std::string(value.to_string_view());
    case Kind::Tensor:
      return value.to_tensor();
    case Kind::List:
      return attribute_of_items(value);
    default:
      return value;
  }
}

}  // namespace opyard::jit::detail
