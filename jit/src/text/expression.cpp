// text/expression.cpp: expression parser: an expression, or statements and a result, as a graph.
#include "opyard/jit/expression.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "opyard/detail/text/literal.h"
#include "opyard/detail/text/near_names.h"
#include "opyard/jit/constant.h"
#include "text/call_builder.h"
#include "text/graph_language.h"

namespace opyard::jit {
namespace {

using namespace detail;  // NOLINT: the tokens of the language

constexpr std::string_view kExpressionSymbols[] = {"**", "//", "==", "!=", "<=", ">=", "(", ")",
                                                   "[",  "]",  ",",  "=",  "+",  "-",  "*", "/",
                                                   "%",  "@",  "<",  ">",  ".",  "{",  "}", ";"};
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
        source_(std::make_shared<const std::string>(options.source)),
        results_(options.results) {
    for (const ExpressionInput& input : inputs) {
      names_[input.name] = {{graph_->add_input(input.name, input.type)}, false, {}};
    }
  }

  GraphPtr parse() {
    Meaning result = parse_body(1);
    cursor_.expect_end();
    if (results_) check_results(result);
    for (Value* const value : result.values) graph_->register_output(value);
    lint(*graph_);
    return graph_;
  }

 private:
  void check_results(Meaning& result) {
    if (result.values.size() != results_->size()) {
      cursor_.fail_at(result.span,
                      fmt::format("this gives {} values, and the schema has {} results",
                                  result.values.size(), results_->size()));
    }
    for (std::size_t i = 0; i < result.values.size(); ++i) {
      const Type& wanted = *(*results_)[i];
      result.values[i] = calls_.literal_like(result.values[i], wanted);
      if (fits_type(*result.values[i]->type(), wanted)) continue;
      cursor_.fail_at(result.span,
                      fmt::format("result {} is {}, and the schema has {} there", i,
                                  to_string(*result.values[i]->type()), to_string(wanted)));
    }
  }

  // Statements, and the result behind them.
  Meaning parse_body(std::size_t depth) {
    cursor_.check_depth(depth);
    for (;;) {
      if (is_word_here("let")) {
        parse_let(depth);
      } else if (is_word_here("require")) {
        parse_require(depth);
      } else {
        return parse_result(depth);
      }
      if (!cursor_.peek().is(";")) cursor_.fail_expected("';' behind a statement");
      cursor_.take();
    }
  }

  // A word of the language; an input that is called so comes first.
  bool is_word_here(std::string_view word) const {
    return cursor_.peek().is_name(word) && !names_.contains(word);
  }

  void parse_let(std::size_t depth) {
    cursor_.take();
    cursor_.count_node();
    std::vector<Token> names;
    do {
      names.push_back(cursor_.expect_name("a name"));
      if (names.size() > cursor_.limits().items) cursor_.fail_expected("fewer names");
    } while (cursor_.take_if(","));
    cursor_.expect("=");
    const Meaning meaning = parse_result(depth + 1);
    if (names.size() == 1) return bind(names.front(), meaning);
    if (meaning.values.size() != names.size()) {
      cursor_.fail_at(
          meaning.span,
          fmt::format(
              "this is {} for {} names",
              meaning.is_tuple ? fmt::format("a tuple of {}", meaning.values.size()) : "one value",
              names.size()));
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      bind(names[i], {{meaning.values[i]}, false, meaning.span});
    }
  }

  void bind(const Token& name, Meaning meaning) {
    if (is_word(name.text) || name.text == "let" || name.text == "if" || name.text == "else" ||
        name.text == "require") {
      cursor_.fail_at(name.span(), fmt::format("{} is a word, and no name", describe(name)));
    }
    if (names_.contains(name.text)) {
      cursor_.fail_at(name.span(), fmt::format("{} has a meaning already, and a name has one; "
                                               "take another name",
                                               describe(name)));
    }
    rename(std::string(name.text), std::move(meaning));
  }

  // What a name means up to the end of the block.
  void rename(const std::string& name, Meaning meaning) {
    const auto found = names_.find(name);
    hidden_.emplace_back(
        name, found == names_.end() ? std::nullopt : std::optional(std::move(found->second)));
    names_[name] = std::move(meaning);
  }

  void end_block(std::size_t begin) {
    for (; hidden_.size() > begin; hidden_.pop_back()) {
      auto& [name, former] = hidden_.back();
      if (former) {
        names_[name] = std::move(*former);
      } else {
        names_.erase(name);
      }
    }
  }

  void parse_require(std::size_t depth) {
    const std::size_t begin = cursor_.take().offset;
    Value* const condition = parse_condition(depth + 1);
    cursor_.expect(",");
    if (cursor_.peek().kind != TokenKind::Text) cursor_.fail_expected("a message in quotes");
    const Token text = cursor_.take();
    Node* const choice = insert(prim::If, {condition}, {begin, cursor_.last_end()});
    choice->add_block();
    {
      const InsertPointGuard inside(choice->add_block());
      insert(prim::RaiseException, {parse_message(text)}, {begin, cursor_.last_end()});
    }
    refine(condition, true);
  }

  // The text of an error, with the values of the names in braces.
  Value* parse_message(const Token& token) {
    const opyard::detail::Unquoted read = opyard::detail::unquote(token);
    if (read.wrong) cursor_.fail_at(*read.wrong, "this escape is unknown");
    std::string text;
    std::vector<Value*> inputs{nullptr};
    for (std::size_t at = 0; at < read.text.size(); ++at) {
      text += read.text[at];
      if (read.text[at] == '}') refuse_brace(token);
      if (read.text[at] != '{') continue;
      const std::size_t end = read.text.find('}', at);
      if (end == std::string::npos) refuse_brace(token);
      const std::string_view name = std::string_view(read.text).substr(at + 1, end - at - 1);
      const auto found = names_.find(name);
      if (found == names_.end()) refuse_name(name, token.span());
      inputs.push_back(single(found->second));
      text += '}';
      at = end;
    }
    inputs.front() = calls_.literal(opyard::Value(std::string_view(text)));
    if (inputs.size() == 1) return inputs.front();
    Node* const node = insert(Symbol::from_qual_string("aten::format"), inputs, token.span());
    return node->add_output(base_type(TypeKind::Str));
  }

  [[noreturn]] void refuse_brace(const Token& token) {
    cursor_.fail_at(token.span(), "a brace in a message is one of a pair around a name");
  }

  Value* parse_condition(std::size_t depth) {
    const Meaning meaning = parse_expression(depth);
    Value* const value = single(meaning);
    if (value->type()->kind() == TypeKind::Bool) return value;
    cursor_.fail_at(meaning.span, fmt::format("a condition is a bool, and this is {}; Bool(...) "
                                              "makes one of a number or a Tensor of one element",
                                              to_string(*value->type())));
  }

  // Where a condition asks whether something is None, names of it mean from here on what is there.
  void refine(const Value* condition, bool holds) {
    const Node* const node = condition->node();
    const std::string_view kind = node->kind().qual_string();
    if (kind != (holds ? "aten::__isnot__" : "aten::__is__")) return;
    Value* asked = node->inputs()[0];
    if (asked->type()->kind() == TypeKind::None) asked = node->inputs()[1];
    if (asked->type()->kind() != TypeKind::Optional) return;
    std::vector<std::string> known;
    for (const auto& [name, meaning] : names_) {
      if (!meaning.is_tuple && meaning.values.front() == asked) known.push_back(name);
    }
    if (known.empty()) return;
    Node* const cast = insert(prim::unchecked_cast, {asked}, {});
    Value* const there = cast->add_output(asked->type()->elements()[0]);
    for (const std::string& name : known) rename(name, {{there}, false, {}});
  }

  Meaning parse_expression(std::size_t depth) {
    return is_word_here("if") ? parse_choice(depth) : parse_comparison(depth);
  }

  // if expr { body } else { body }, or a further "if" behind the "else"
  Meaning parse_choice(std::size_t depth) {
    cursor_.check_depth(depth);
    cursor_.count_node();
    const std::size_t begin = cursor_.take().offset;
    Value* const condition = parse_condition(depth + 1);
    Node* const choice = insert(prim::If, {condition}, {begin, cursor_.last_end()});
    const Meaning yes = parse_branch(choice, true, depth + 1);
    if (!cursor_.take_if_name("else")) {
      cursor_.fail_expected("'else', since an if has a value either way");
    }
    const Meaning no = parse_branch(choice, false, depth + 1);
    return joined(choice, yes, no, {begin, cursor_.last_end()});
  }

  Meaning parse_branch(Node* choice, bool holds, std::size_t depth) {
    const InsertPointGuard inside(choice->add_block());
    const std::size_t outer = hidden_.size();
    refine(choice->inputs()[0], holds);
    Meaning meaning;
    if (!holds && is_word_here("if")) {
      meaning = parse_choice(depth);
    } else {
      cursor_.expect("{");
      meaning = parse_body(depth);
      cursor_.expect_close("}");
    }
    end_block(outer);
    return meaning;
  }

  // What an if gives, each value of the type that both ways have.
  Meaning joined(Node* choice, const Meaning& yes, const Meaning& no, Span span) {
    if (yes.is_tuple != no.is_tuple || yes.values.size() != no.values.size()) {
      cursor_.fail_at(span, fmt::format("one way of this if gives {} values, the other {}",
                                        yes.values.size(), no.values.size()));
    }
    Meaning result{{}, yes.is_tuple, span};
    for (std::size_t i = 0; i < yes.values.size(); ++i) {
      Value* ways[] = {yes.values[i], no.values[i]};
      for (const std::size_t way : {0, 1}) {
        const InsertPointGuard inside(choice->blocks()[way]);
        ways[way] = calls_.literal_like(ways[way], *ways[1 - way]->type());
      }
      const TypePtr type = unify(ways[0]->type(), ways[1]->type());
      if (type == nullptr) {
        cursor_.fail_at(span,
                        fmt::format("one way of this if gives {}, the other {}",
                                    to_string(*ways[0]->type()), to_string(*ways[1]->type())));
      }
      for (const std::size_t way : {0, 1}) choice->blocks()[way]->register_output(ways[way]);
      result.values.push_back(choice->add_output(type));
    }
    return result;
  }

  // Several expressions with commas between them are a tuple.
  Meaning parse_result(std::size_t depth) {
    Meaning first = parse_expression(depth);
    if (!cursor_.peek().is(",")) return first;
    Meaning tuple{{single(first)}, true, first.span};
    while (cursor_.take_if(",")) {
      if (cursor_.peek().is(")") || cursor_.peek().is("}") || cursor_.peek().is(";") ||
          cursor_.peek().kind == TokenKind::End) {
        break;
      }
      tuple.values.push_back(single(parse_expression(depth)));
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
    return call("aten::neg", span, {value}, {});
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
      return call("aten::__getitem__", span,
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
    parse_list(cursor_, "[", "]", [&] { items.push_back(single(parse_expression(depth + 1))); });
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
    Meaning meaning = found->second;
    meaning.span = token.span();
    return meaning;
  }

  [[noreturn]] void refuse_name(std::string_view name, Span place) {
    std::vector<std::string_view> known;
    for (const auto& [each, meaning] : names_) known.push_back(each);
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
        by_name.emplace_back(keyword.text, single(parse_expression(depth + 1)));
        return;
      }
      if (!by_name.empty()) cursor_.fail_expected("an argument by name");
      positional.push_back(single(parse_expression(depth + 1)));
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

  Node* insert(Symbol kind, const std::vector<Value*>& inputs, Span span) {
    Node* const node = graph_->insert_node(graph_->create(kind, inputs, 0));
    place(node, span);
    return node;
  }

  void place(Node* node, Span span) {
    const opyard::detail::LineAndColumn at = opyard::detail::line_and_column_of(text_, span.begin);
    node->set_source_range({source_, std::uint32_t(at.line), std::uint32_t(at.column)});
  }

  Meaning meaning_of(Node* node, Span span) {
    place(node, span);
    const auto outputs = node->outputs();
    return {{outputs.begin(), outputs.end()}, outputs.size() != 1, span};
  }

  const std::string_view text_;
  Cursor cursor_;
  const GraphPtr graph_;
  CallBuilder calls_;
  const std::shared_ptr<const std::string> source_;
  const std::optional<std::vector<TypePtr>>& results_;
  std::map<std::string, Meaning, std::less<>> names_;
  // What a name meant outside of a block, by each that the block gives a meaning.
  std::vector<std::pair<std::string, std::optional<Meaning>>> hidden_;
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
