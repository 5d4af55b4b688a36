// text/expression.cpp: expression parser: an expression as a graph.
#include "opyard/jit/expression.h"

#include <fmt/format.h>

#include <map>

#include "opyard/detail/text/literal.h"
#include "opyard/detail/text/near_names.h"
#include "opyard/jit/constant.h"
#include "text/call_builder.h"
#include "text/graph_language.h"

namespace opyard::jit {
namespace {

using namespace detail;  // NOLINT: the tokens of the language

constexpr std::string_view kExpressionSymbols[] = {"**", "//", "==", "!=", "<=", ">=", "(",
                                                   ")",  "[",  "]",  ",",  "=",  "+",  "-",
                                                   "*",  "/",  "%",  "@",  "<",  ">",  "."};
constexpr Language kExpressionLanguage = {.what = "expression",
                                          .nodes = "operations",
                                          .error = ErrorKind::BadGraph,
                                          .symbols = kExpressionSymbols};

// What an expression means: one value, or those of a tuple.
struct Meaning {
  std::vector<Value*> values;
  bool is_tuple = false;
  Span span;
};

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, std::span<const ExpressionInput> inputs,
                   const ExpressionOptions& options, Faults& faults)
      : text_(text),
        cursor_(text, kExpressionLanguage, options.limits, faults),
        graph_(make_graph()),
        calls_(*graph_, options.name_space),
        source_(std::make_shared<const std::string>(options.source)) {
    for (const ExpressionInput& input : inputs) {
      names_[input.name] = graph_->add_input(input.name, input.type);
    }
  }

  GraphPtr parse() {
    const Meaning result = parse_result(1);
    cursor_.expect_end();
    for (Value* const value : result.values) graph_->register_output(value);
    lint(*graph_);
    return graph_;
  }

 private:
  // Several expressions with commas between them are a tuple.
  Meaning parse_result(std::size_t depth) {
    Meaning first = parse_comparison(depth);
    if (!cursor_.peek().is(",")) return first;
    Meaning tuple{{single(first)}, true, first.span};
    while (cursor_.take_if(",")) {
      if (cursor_.peek().is(")") || cursor_.peek().kind == TokenKind::End) break;
      tuple.values.push_back(single(parse_comparison(depth)));
      tuple.span.end = cursor_.last_end();
      if (tuple.values.size() > cursor_.limits().items) cursor_.fail_expected("a shorter tuple");
    }
    return tuple;
  }

  Value* single(const Meaning& meaning) {
    if (!meaning.is_tuple) return meaning.values.front();
    cursor_.fail_at(meaning.span, fmt::format("a tuple of {} is no operand; take one with [i]",
                                              meaning.values.size()));
  }

  const char* symbol_of(std::initializer_list<std::pair<const char*, const char*>> known) {
    for (const auto& [symbol, function] : known) {
      if (cursor_.peek().is(symbol)) return function;
    }
    return nullptr;
  }

  Meaning parse_comparison(std::size_t depth) {
    cursor_.check_depth(depth);
    Meaning left = parse_sum(depth + 1);
    const char* const function = symbol_of(
        {{"==", "eq"}, {"!=", "ne"}, {"<", "lt"}, {"<=", "le"}, {">", "gt"}, {">=", "ge"}});
    if (function == nullptr) return left;
    cursor_.take();
    return binary(function, left, parse_sum(depth + 1));
  }

  Meaning parse_sum(std::size_t depth) {
    Meaning left = parse_product(depth);
    while (const char* const function = symbol_of({{"+", "add"}, {"-", "sub"}})) {
      cursor_.take();
      left = binary(function, left, parse_product(depth));
    }
    return left;
  }

  Meaning parse_product(std::size_t depth) {
    Meaning left = parse_unary(depth);
    while (const char* const function = symbol_of({{"*", "mul"},
                                                   {"/", "div"},
                                                   {"//", "floor_divide"},
                                                   {"%", "remainder"},
                                                   {"@", "matmul"}})) {
      cursor_.take();
      left = binary(function, left, parse_unary(depth));
    }
    return left;
  }

  Meaning parse_unary(std::size_t depth) {
    cursor_.check_depth(depth);
    const std::size_t begin = cursor_.peek().offset;
    if (!cursor_.take_if("-")) return parse_power(depth);
    const Meaning operand = parse_unary(depth + 1);
    Value* const value = single(operand);
    const Span span{begin, cursor_.last_end()};
    if (Value* const negated = calls_.negated_literal(value)) return {{negated}, false, span};
    return call("neg", span, {value}, {});
  }

  Meaning parse_power(std::size_t depth) {
    Meaning base = parse_postfix(depth);
    if (!cursor_.take_if("**")) return base;
    return binary("pow", base, parse_unary(depth + 1));
  }

  Meaning parse_postfix(std::size_t depth) {
    Meaning operand = parse_atom(depth);
    for (;;) {
      if (cursor_.take_if(".")) {
        const Token name = cursor_.expect_name("the name of a function");
        operand = parse_call(std::string(name.text), operand.span.begin, {single(operand)}, depth);
      } else if (cursor_.peek().is("[")) {
        operand = parse_index(operand);
      } else {
        return operand;
      }
    }
  }

  Meaning parse_index(const Meaning& operand) {
    cursor_.expect("[");
    const bool negative = cursor_.take_if("-");
    if (cursor_.peek().kind != TokenKind::Integer) cursor_.fail_expected("an integer");
    const Token token = cursor_.take();
    const auto index = opyard::detail::read_integer(token.text, negative);
    cursor_.expect("]");
    const Span span{operand.span.begin, cursor_.last_end()};
    if (!operand.is_tuple) {
      return call("__getitem__", span,
                  {operand.values.front(), calls_.literal(opyard::Value(index.value_or(0)))}, {});
    }
    const auto size = std::int64_t(operand.values.size());
    const std::int64_t at = index ? (*index < 0 ? *index + size : *index) : size;
    if (at < 0 || at >= size) {
      cursor_.fail_at(span, fmt::format("there is no item {} in a tuple of {}", token.text, size));
    }
    return {{operand.values[std::size_t(at)]}, false, span};
  }

  Meaning parse_atom(std::size_t depth) {
    cursor_.check_depth(depth);
    cursor_.count_node();
    const Token token = cursor_.peek();
    if (token.is("(")) {
      cursor_.take();
      Meaning inner = parse_result(depth + 1);
      cursor_.expect_close(")");
      inner.span = {token.offset, cursor_.last_end()};
      return inner;
    }
    if (token.is("[")) return parse_list_of(depth);
    if (token.kind == TokenKind::Name && !is_word(token.text)) return parse_name(depth);
    return parse_literal_atom(token);
  }

  static bool is_word(std::string_view name) {
    return name == "True" || name == "False" || name == "None" || name == "inf" || name == "nan";
  }

  Meaning parse_literal_atom(const Token& token) {
    switch (token.kind) {
      case TokenKind::Integer:
      case TokenKind::Real:
      case TokenKind::Complex:
      case TokenKind::Text:
      case TokenKind::Name:
        break;
      default:
        cursor_.fail_expected("a value");
    }
    const opyard::Value value = parse_literal_value(cursor_, {nullptr, {}});
    return {{calls_.literal(value)}, false, {token.offset, cursor_.last_end()}};
  }

  Meaning parse_list_of(std::size_t depth) {
    const std::size_t begin = cursor_.peek().offset;
    std::vector<Value*> items;
    parse_list(cursor_, "[", "]", [&] { items.push_back(single(parse_comparison(depth + 1))); });
    return {{calls_.list(items)}, false, {begin, cursor_.last_end()}};
  }

  Meaning parse_name(std::size_t depth) {
    const Token token = cursor_.take();
    if (cursor_.peek().is("(")) return parse_call(std::string(token.text), token.offset, {}, depth);
    const auto found = names_.find(std::string(token.text));
    if (found == names_.end() && cursor_.peek().is(".")) return parse_qualified(token, depth);
    if (found == names_.end()) {
      refuse_name(token.text, token.span());
    }
    return {{found->second}, false, token.span()};
  }

  [[noreturn]] void refuse_name(std::string_view name, Span place) {
    std::vector<std::string_view> known;
    for (const auto& [each, value] : names_) known.push_back(each);
    const std::string_view meant = opyard::detail::near_name(name, known);
    cursor_.fail_at(place, fmt::format("there is no input '{}'; {}", opyard::detail::shown(name),
                                       meant.empty() ? "a function has '(' behind it"
                                                     : fmt::format("'{}' may be meant", meant)));
  }

  // "ns.name(...)", of a namespace, since it is no input.
  Meaning parse_qualified(const Token& name_space, std::size_t depth) {
    cursor_.expect(".");
    const Token name = cursor_.expect_name("the name of a function");
    if (!cursor_.peek().is("(")) {
      refuse_name(name_space.text, {name_space.offset, name.end()});
    }
    return parse_call(fmt::format("{}::{}", name_space.text, name.text), name_space.offset, {},
                      depth);
  }

  Meaning parse_call(const std::string& name, std::size_t begin, std::vector<Value*> positional,
                     std::size_t depth) {
    NamedValues by_name;
    parse_list(cursor_, "(", ")", [&] {
      if (cursor_.peek().kind == TokenKind::Name && cursor_.peek_second().is("=")) {
        const Token keyword = cursor_.take();
        cursor_.take();
        by_name.emplace_back(keyword.text, single(parse_comparison(depth + 1)));
        return;
      }
      if (!by_name.empty()) cursor_.fail_expected("an argument by name");
      positional.push_back(single(parse_comparison(depth + 1)));
    });
    return call(name, {begin, cursor_.last_end()}, std::move(positional), by_name);
  }

  Meaning binary(const char* function, const Meaning& left, const Meaning& right) {
    const Span span{left.span.begin, right.span.end};
    try {
      Node* const node = calls_.binary(function, single(left), single(right));
      return meaning_of(node, span);
    } catch (const Error& error) {
      cursor_.fail_at(span, error.what());
    }
  }

  Meaning call(const std::string& name, Span span, std::vector<Value*> positional,
               const NamedValues& by_name) {
    try {
      return meaning_of(calls_.call(name, positional, by_name), span);
    } catch (const Error& error) {
      cursor_.fail_at(span, error.what());
    }
  }

  Meaning meaning_of(Node* node, Span span) {
    const opyard::detail::LineAndColumn place =
        opyard::detail::line_and_column_of(text_, span.begin);
    node->set_source_range({source_, std::uint32_t(place.line), std::uint32_t(place.column)});
    const auto outputs = node->outputs();
    return {{outputs.begin(), outputs.end()}, outputs.size() != 1, span};
  }

  const std::string_view text_;
  Cursor cursor_;
  const GraphPtr graph_;
  CallBuilder calls_;
  const std::shared_ptr<const std::string> source_;
  std::map<std::string, Value*, std::less<>> names_;
};

}  // namespace

GraphPtr parse_expression(std::string_view text, std::span<const ExpressionInput> inputs,
                          const ExpressionOptions& options) {
  Faults faults(text, kExpressionLanguage, options.limits);
  GraphPtr graph;
  try {
    graph = ExpressionParser(text, inputs, options, faults).parse();
  } catch (const GiveUp&) {
    // What ended the reading is among the faults.
  }
  raise_if_any(faults, options.source, ExpressionOptions().source);
  return graph;
}

}  // namespace opyard::jit
