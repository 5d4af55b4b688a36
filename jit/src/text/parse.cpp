// text/parse.cpp: from text to a graph.
//
// [Numbers] A value that the text calls by a number keeps the number, the newest of those with the
// same one; all others get new numbers at the end. So what is printed, parsed and printed again is the
// same text.
#include "opyard/jit/parse.h"

#include <fmt/format.h>

#include <charconv>

#include "text/graph_language.h"

namespace opyard::jit {
namespace {

using namespace detail;  // NOLINT: the tokens of the language

bool is_number(std::string_view name) {
  return name.find_first_not_of("0123456789") == std::string_view::npos;
}

class Parser {
 public:
  Parser(std::string_view text, const ParseOptions& options, Faults& faults)
      : text_(text),
        options_(options),
        cursor_(text, kGraphLanguage, options.limits, faults),
        source_(std::make_shared<const std::string>(options.source)) {
    find_subgraphs();
  }

  GraphPtr parse() {
    GraphPtr graph = parse_graph();
    if (options_.names != nullptr) {
      options_.names->clear();
      for (const auto& [name, value] : values_) options_.names->emplace(name, value);
    }
    while (cursor_.take_if_name("with")) parse_subgraph();
    cursor_.expect_end();
    for (const auto& [name, users] : waiting_) {
      if (!users.empty()) {
        cursor_.fail_at(
            users.front().second,
            fmt::format("'{}' is not defined by a line 'with {} = graph(…)'", name, name));
      }
    }
    lint(*graph);
    if (options_.untrusted) graph->restrict_to(options_.allowed);
    return graph;
  }

 private:
  using Names = std::unordered_map<std::string_view, Value*>;

  // The names that lines "with <name> = graph" define, so that nodes of that kind are known.
  void find_subgraphs() {
    for (std::size_t at = text_.find("\nwith "); at != std::string_view::npos;
         at = text_.find("\nwith ", at + 1)) {
      const std::string_view rest = text_.substr(at + 6);
      const std::string_view name = rest.substr(0, rest.find_first_of(" =\n"));
      waiting_.try_emplace(std::string(name));
    }
  }

  GraphPtr parse_graph() {
    if (!cursor_.peek().is_name("graph")) cursor_.fail_expected("'graph'");
    cursor_.take();
    GraphPtr graph = make_graph();
    graph_ = graph.get();
    values_.clear();
    newest_.clear();
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
    std::unordered_map<Value*, std::uint64_t> numbers;
    for (const auto& [number, value] : newest_) numbers.emplace(value, number);
    graph->renumber(numbers);
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
    const auto found = waiting_.find(name);
    if (found == waiting_.end() || found->second.empty()) {
      cursor_.fail_at(span, fmt::format("no node is a '{}'", name));
    }
    const auto users = std::move(found->second);
    found->second.clear();
    std::size_t depth = 0;
    for (const auto& [node, place] : users) {
      depth = std::max(depth, depth_of_[&node->graph()] + 1);
    }
    if (depth > cursor_.limits().nesting) {
      cursor_.fail_at(
          span, fmt::format("graphs within graphs are {} deep here; at most {} are read", depth,
                            cursor_.limits().nesting));
    }
    const GraphPtr inner = parse_graph();
    depth_of_[inner.get()] = depth;
    for (const auto& [node, place] : users) node->g_(attr::Subgraph, inner);
  }

  // The inputs of a graph, stage or block, and the ":" behind them.
  void parse_values(Block* block) {
    parse_list(cursor_, "(", ")", [&] {
      const Token name = expect_variable();
      TypePtr type = cursor_.take_if(":") ? parse_type(cursor_) : base_type(TypeKind::Tensor);
      cursor_.count_node();
      define(name, block->add_input({}, std::move(type)));
    });
    cursor_.expect(":");
  }

  Token expect_variable() {
    if (cursor_.peek().kind != TokenKind::Variable) cursor_.fail_expected("a value such as '%x'");
    return cursor_.take();
  }

  void define(const Token& token, Value* value) {
    const std::string_view name = token.text.substr(1);
    if (is_number(name)) {
      std::uint64_t number = 0;
      const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
      if (read.ec != std::errc() || number > (std::uint64_t{1} << 62)) {
        cursor_.fail_at(token.span(), "the number of this value is too large");
      }
      newest_[number] = value;
    } else {
      if (name.back() == '.' || name.front() == '.') {
        cursor_.fail_at(token.span(), "a name neither begins nor ends with a point");
      }
      value->set_debug_name(name);
    }
    Value*& known = values_[name];
    hidden_.emplace_back(name, known);
    known = value;
  }

  Value* find(const Token& token) {
    const auto found = values_.find(token.text.substr(1));
    if (found == values_.end() || found->second == nullptr) {
      cursor_.fail_at(token.span(),
                      fmt::format("there is no value {} here", opyard::detail::describe(token)));
    }
    return found->second;
  }

  void parse_stage() {
    while (!cursor_.peek().is_name("return")) parse_node(graph_->block(), 1);
    cursor_.take();
    parse_list(cursor_, "(", ")", [&] { graph_->register_output(find(expect_variable())); });
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
    if (first.kind == TokenKind::Variable) parse_outputs(outputs);
    const bool python = cursor_.peek().is("^");
    Node* const node = python ? parse_python() : parse_kind(outputs);
    block->append_node(node);
    node->set_source_range(place(first.offset));
    parse_list(cursor_, "(", ")", [&] { node->add_input(find(expect_variable())); });
    if (python) finish_python(node);
    if (cursor_.peek().is(",") && cursor_.peek_second().is_name("scope")) parse_scope(node);
    while (is_block(cursor_.peek())) parse_block(node, depth);
    for (const Output& output : outputs) define(output.name, node->add_output(output.type));
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

  // "aten::add.Tensor[alpha=1]", up to its inputs.
  Node* parse_kind(const std::vector<Output>& outputs) {
    const Token name_space = cursor_.expect_name("a node, 'return' or '->'");
    cursor_.expect("::");
    const Token name = cursor_.expect_name("the name of an operation");
    std::string kind = fmt::format("{}::{}", name_space.text, name.text);
    const auto subgraph = waiting_.find(kind);
    if (subgraph != waiting_.end()) kind.resize(kind.rfind('_'));
    const Symbol symbol = Symbol::from_qual_string(kind);
    if (symbol == prim::Param || symbol == prim::Return) {
      cursor_.fail_at({name_space.offset, name.end()}, "the sentinels of a block are not written");
    }
    Node* const node = graph_->create(symbol, std::initializer_list<Value*>{}, 0);
    if (subgraph != waiting_.end()) subgraph->second.emplace_back(node, name.span());
    if (cursor_.take_if(".")) {
      node->set_overload(Symbol::attr(cursor_.expect_name("the name of an overload").text));
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
      const Symbol symbol = Symbol::attr(name.text);
      if (node->has_attribute(symbol)) {
        cursor_.fail_at(name.span(), fmt::format("attribute {} is given twice", describe(name)));
      }
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
    const std::size_t outer = hidden_.size();
    parse_values(block);
    while (!cursor_.peek().is("->")) parse_node(block, depth + 1);
    cursor_.take();
    parse_list(cursor_, "(", ")", [&] { block->register_output(find(expect_variable())); });
    // What was named inside is forgotten, what it hid is seen again.
    for (; hidden_.size() > outer; hidden_.pop_back()) {
      values_[hidden_.back().first] = hidden_.back().second;
    }
  }

  // Line and column of a byte; asked for in order, so that the text is passed over once.
  SourceRange place(std::size_t offset) {
    for (; counted_ < offset; ++counted_) {
      if (text_[counted_] == '\n') {
        ++line_;
        line_begin_ = counted_ + 1;
      }
    }
    return {source_, line_, std::uint32_t(offset - line_begin_ + 1)};
  }

  const std::string_view text_;
  const ParseOptions& options_;
  Cursor cursor_;
  const std::shared_ptr<const std::string> source_;
  Graph* graph_ = nullptr;
  Names values_;
  std::vector<std::pair<std::string_view, Value*>> hidden_;  // what each definition has hidden
  std::unordered_map<std::uint64_t, Value*> newest_;         // of each number
  // Nodes that hold a graph that is defined behind; see find_subgraphs().
  std::unordered_map<std::string, std::vector<std::pair<Node*, Span>>> waiting_;
  std::unordered_map<const Graph*, std::size_t> depth_of_;  // graphs that it is in
  std::size_t next_tensor_ = 0;
  std::size_t counted_ = 0;
  std::size_t line_begin_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace

GraphPtr parse_graph(std::string_view text, const ParseOptions& options) {
  Faults faults(text, kGraphLanguage, options.limits);
  GraphPtr graph;
  try {
    graph = Parser(text, options, faults).parse();
  } catch (const GiveUp&) {
    // What ended the reading is among the faults.
  }
  faults.raise_if_any();
  return graph;
}

}  // namespace opyard::jit
