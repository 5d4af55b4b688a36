// text/parse.cpp: graph parser.
//
// [Numbers] A value that the text calls by a number keeps the number, the newest of those with the
// same one; all others get new numbers at the end. So what is printed, parsed and printed again is
// the same text.
#include "opyard/jit/parse.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/node_rules.h"
#include "opyard/detail/jit/load_operator.h"
#include "opyard/inspect/inspect.h"
#include "opyard/jit/resolve.h"
#include "text/graph_language.h"
#include "text/line_counter.h"
#include "text/subgraphs.h"
#include "text/value_names.h"

namespace opyard::jit {
namespace {

using namespace detail;  // NOLINT: the tokens of the language

class GraphParser {
 public:
  GraphParser(std::string_view text, const ParseOptions& options, Faults& faults)
      : options_(options),
        cursor_(text, kGraphLanguage, options.limits, faults),
        lines_(text, options.source),
        values_(cursor_),
        subgraphs_(text, cursor_) {}

  GraphPtr parse() {
    GraphPtr graph = parse_graph();
    if (options_.names != nullptr) values_.tell(*options_.names);
    while (cursor_.take_if_name("with")) parse_subgraph();
    cursor_.expect_end();
    subgraphs_.check_all();
    lint(*graph);
    if (options_.untrusted) graph->restrict_to(options_.allowed);
    return graph;
  }

 private:
  GraphPtr parse_graph() {
    if (!cursor_.peek().is_name("graph")) cursor_.fail_expected("'graph'");
    cursor_.take();
    GraphPtr graph = make_graph();
    graph_ = graph.get();
    values_.clear();
    parse_values(graph->block());
    parse_stage();
    while (cursor_.peek().is_name("stage")) {
      const Token word = cursor_.take();
      const Token number = cursor_.take();
      if (number.text != std::to_string(graph->stage() + 1)) {
        cursor_.fail_at({word.offset, number.end()},
                        fmt::format("the next stage is stage {}", graph->stage() + 1));
      }
      graph->advance_stage();
      parse_values(graph->block());
      parse_stage();
    }
    // See [Numbers].
    graph->renumber(values_.newest());
    return graph;
  }

  void parse_subgraph() {
    const std::size_t begin = cursor_.peek().offset;
    std::string name(cursor_.expect_name("the name of a graph").text);
    cursor_.expect("::");
    name += "::";
    name += cursor_.expect_name("the name of a graph").text;
    const Span span{begin, cursor_.last_end()};
    cursor_.expect("=");
    subgraphs_.begin(name, span);
    subgraphs_.end(parse_graph());
  }

  // The inputs of a graph, stage or block, and the ":" behind them.
  void parse_values(Block* block) {
    parse_list(cursor_, "(", ")", [&] {
      const Token name = expect_variable();
      TypePtr type = cursor_.take_if(":") ? parse_type(cursor_) : base_type(TypeKind::Tensor);
      cursor_.count_node();
      values_.define(name, block->add_input({}, std::move(type)));
    });
    cursor_.expect(":");
  }

  Token expect_variable() {
    if (cursor_.peek().kind != TokenKind::Variable) cursor_.fail_expected("a value such as '%x'");
    return cursor_.take();
  }

  void parse_stage() {
    while (!cursor_.peek().is_name("return")) parse_node(graph_->block(), 1);
    cursor_.take();
    parse_list(cursor_, "(", ")",
               [&] { graph_->register_output(values_.find(expect_variable())); });
  }

  struct Output {
    Token name;
    TypePtr type;
  };

  void parse_node(Block* block, std::size_t depth) {
    cursor_.check_depth(depth);
    cursor_.count_node();
    const Token first = cursor_.peek();
    std::vector<Output> outputs;
    if (first.kind == TokenKind::Variable) {
      parse_outputs(outputs);
    } else {
      cursor_.take_if("=");  // TorchScript writes it also in front of a node without outputs
    }
    const bool python = cursor_.peek().is("^");
    Node* const node = python ? parse_python() : parse_kind(outputs);
    block->append_node(node);
    node->set_source_range(lines_.at(first.offset));
    parse_list(cursor_, "(", ")", [&] { node->add_input(values_.find(expect_variable())); });
    if (python) finish_python(node);
    if (cursor_.peek().is(",") && cursor_.peek_second().is_name("scope")) parse_scope(node);
    while (is_block(cursor_.peek())) parse_block(node, depth);
    for (const Output& output : outputs) values_.define(output.name, node->add_output(output.type));
  }

  void parse_outputs(std::vector<Output>& outputs) {
    do {
      const Token name = expect_variable();
      outputs.push_back(
          {name, cursor_.take_if(":") ? parse_type(cursor_) : base_type(TypeKind::Tensor)});
      if (outputs.size() > cursor_.limits().items) cursor_.fail_expected("fewer outputs");
    } while (cursor_.take_if(","));
    cursor_.expect("=");
  }

  // A stranger's text makes no new symbols, since those live as long as the process: what
  // it may name are names that are known, and operators that exist.
  Symbol symbol_of(const std::string& text, Span span) const {
    if (!options_.untrusted) return Symbol::from_qual_string(text);
    rare_names();  // known from here on
    const Symbol known = Symbol::find(text);
    if (known.defined()) return known;
    if (!text.starts_with("attr::")) {
      if (is_allowed(text)) load_operator(text);
      if (is_known_operator(text)) return Symbol::from_qual_string(text);
    }
    cursor_.fail_at(span,
                    fmt::format("an untrusted text may name only what is known here, and '{}' "
                                "is not{}",
                                opyard::detail::shown(text), where_it_may_be(text)));
  }

  // By the name alone, or one with an overload.
  bool is_allowed(const std::string& name) const {
    return std::ranges::any_of(options_.allowed, [&](const std::string& allowed) {
      return allowed.starts_with(name) &&
             (allowed.size() == name.size() || allowed[name.size()] == '.');
    });
  }

  static bool find_overload(const std::string& kind, std::string_view overload) {
    const std::vector<std::string> known = inspect::overloads(kind);
    return std::find(known.begin(), known.end(), overload) != known.end();
  }

  // "aten::add.Tensor[alpha=1]", up to its inputs.
  Node* parse_kind(const std::vector<Output>& outputs) {
    const Token name_space = cursor_.expect_name("a node, 'return' or '->'");
    cursor_.expect("::");
    const Token name = cursor_.expect_name("the name of an operation");
    std::string kind = fmt::format("{}::{}", name_space.text, name.text);
    const bool has_graph = subgraphs_.defines(kind);
    const std::string graph = kind;
    const Span span{name_space.offset, name.end()};
    if (has_graph) kind.resize(kind.rfind('_'));
    const Symbol symbol = symbol_of(kind, span);
    if (symbol == prim::Param || symbol == prim::Return) {
      cursor_.fail_at(span, "the sentinels of a block are not written");
    }
    Node* const node = graph_->create(symbol, std::initializer_list<Value*>{}, 0);
    if (has_graph) subgraphs_.wait_for(graph, node, name.span());
    if (cursor_.take_if(".")) {
      const Token overload = cursor_.expect_name("the name of an overload");
      const std::string text = "attr::" + std::string(overload.text);
      const bool exists = find_overload(kind, overload.text);
      node->set_overload(exists ? Symbol::from_qual_string(text)
                                : symbol_of(text, overload.span()));
    }
    if (cursor_.peek().is("[")) {
      parse_attributes(node, outputs.empty() ? nullptr : outputs.front().type.get());
    }
    return node;
  }

  void parse_attributes(Node* node, const Type* type) {
    const ConstantContext context{type, [this](Span span) { return next_tensor(span); }};
    parse_list(cursor_, "[", "]", [&] {
      const Token name = cursor_.expect_name("the name of an attribute");
      cursor_.expect("=");
      const Symbol symbol = symbol_of("attr::" + std::string(name.text), name.span());
      if (node->has_attribute(symbol)) {
        cursor_.fail_at(name.span(), fmt::format("attribute {} is given twice", describe(name)));
      }
      if (subgraphs_.parse_attribute(cursor_, node, symbol)) return;
      node->set_attribute(symbol, parse_attribute(cursor_, context));
    });
  }

  Tensor next_tensor(Span span) {
    if (next_tensor_ == options_.tensors.size()) {
      cursor_.fail_at(span, fmt::format("the text does not have this tensor, and {} were given",
                                        options_.tensors.size()));
    }
    return options_.tensors[next_tensor_++];
  }

  // "^Name(scalars)"
  Node* parse_python() {
    cursor_.expect("^");
    const Token name = cursor_.expect_name("the name of a Python function");
    Node* const node = graph_->create(prim::PythonOp, std::initializer_list<Value*>{}, 0);
    node->s_(attr::name, std::string(name.text));
    if (cursor_.peek().is("[")) parse_attributes(node, nullptr);
    const ConstantContext context{nullptr, [this](Span span) { return next_tensor(span); }};
    std::vector<opyard::Value> scalars;
    parse_list(cursor_, "(", ")",
               [&] { scalars.push_back(parse_literal_value(cursor_, context)); });
    node->ival_(Symbol::attr("scalar_args"), opyard::Value::tuple(std::move(scalars)));
    return node;
  }

  void finish_python(Node* node) {
    if (node->has_attribute(attr::cconv)) return;
    const std::size_t scalars = node->ival(Symbol::attr("scalar_args")).to_tuple().size();
    node->s_(attr::cconv, std::string(scalars, 's') + std::string(node->inputs().size(), 't'));
  }

  // ", scope: net/conv1", up to the end of the line.
  void parse_scope(Node* node) {
    cursor_.expect(",");
    cursor_.take();
    cursor_.expect(":");
    const std::size_t begin = cursor_.peek().offset;
    std::size_t end = begin;
    while (cursor_.peek().kind != TokenKind::End && !cursor_.peek().begins_line) {
      end = cursor_.take().end();
    }
    node->set_scope(std::string(cursor_.text({begin, end})));
  }

  static bool is_block(const Token& token) {
    return token.kind == TokenKind::Name && token.text.starts_with("block") &&
           is_number(token.text.substr(5)) && token.text.size() > 5;
  }

  void parse_block(Node* node, std::size_t depth) {
    const Token word = cursor_.take();
    if (word.text.substr(5) != std::to_string(node->blocks().size())) {
      cursor_.fail_at(word.span(),
                      fmt::format("the next block of this node is block{}", node->blocks().size()));
    }
    Block* const block = node->add_block();
    const std::size_t outer = values_.begin_block();
    parse_values(block);
    while (!cursor_.peek().is("->")) parse_node(block, depth + 1);
    cursor_.take();
    parse_list(cursor_, "(", ")", [&] { block->register_output(values_.find(expect_variable())); });
    values_.end_block(outer);
  }

  const ParseOptions& options_;
  Cursor cursor_;
  LineCounter lines_;
  Graph* graph_ = nullptr;
  ValueNames values_;
  Subgraphs subgraphs_;
  std::size_t next_tensor_ = 0;
};

}  // namespace

GraphPtr parse_graph(std::string_view text, const ParseOptions& options) {
  Faults faults(text, kGraphLanguage, options.limits);
  GraphPtr graph;
  try {
    graph = GraphParser(text, options, faults).parse();
  } catch (const GiveUp&) {
    // What ended the reading is among the faults.
  }
  raise_if_any(faults, options.source, ParseOptions().source);
  return graph;
}

}  // namespace opyard::jit
