// text/subgraphs.cpp: named subgraphs in the text of a graph.
#include "text/subgraphs.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/generator_text.h"

namespace opyard::jit::detail {

Subgraphs::Subgraphs(std::string_view text, const Cursor& cursor) : cursor_(cursor) {
  constexpr std::string_view kWith = "\nwith ";
  for (std::size_t at = text.find(kWith); at != std::string_view::npos;
       at = text.find(kWith, at + 1)) {
    const std::string_view rest = text.substr(at + kWith.size());
    waiting_.try_emplace(std::string(rest.substr(0, rest.find_first_of(" =\n"))));
  }
}

void Subgraphs::wait_for(const std::string& name, Node* node, Span span) {
  waiting_.at(name).push_back({node, attr::Subgraph, std::nullopt, span});
}

std::string Subgraphs::parse_name(Cursor& cursor, Span& span) {
  const Token name_space = cursor.expect_name("the name of a graph");
  cursor.expect("::");
  const Token name = cursor.expect_name("the name of a graph");
  span = {name_space.offset, name.end()};
  std::string full = fmt::format("{}::{}", name_space.text, name.text);
  if (!defines(full)) {
    cursor.fail_at(span, fmt::format("no line 'with {} = graph(…)' defines this graph", full));
  }
  return full;
}

bool Subgraphs::parse_attribute(Cursor& cursor, Node* node, Symbol attribute) {
  const auto is_word = [](const Token& token) {
    return token.kind == TokenKind::Name && !begins_type(token) && token.text != "True" &&
           token.text != "False" && token.text != "None" && token.text != "inf" &&
           token.text != "nan" && token.text != "annotate" && !begins_printed_tensor(token);
  };
  Span span;
  if (is_word(cursor.peek()) && !begins_generator(cursor)) {
    const std::string name = parse_name(cursor, span);
    node->g_(attribute, nullptr);
    waiting_.at(name).push_back({node, attribute, std::nullopt, span});
    return true;
  }
  if (!cursor.peek().is("[") || !is_word(cursor.peek_second())) return false;
  std::size_t count = 0;
  parse_list(cursor, "[", "]", [&] {
    const std::string name = parse_name(cursor, span);
    waiting_.at(name).push_back({node, attribute, count++, span});
  });
  node->gs_(attribute, std::vector<GraphPtr>(count));
  return true;
}

void Subgraphs::begin(const std::string& name, Span span) {
  const auto found = waiting_.find(name);
  if (found == waiting_.end() || found->second.empty()) {
    cursor_.fail_at(span, fmt::format("no node is a '{}'", name));
  }
  users_ = std::move(found->second);
  found->second.clear();
  depth_ = 0;
  for (const User& user : users_) depth_ = std::max(depth_, depth_of_[&user.node->graph()] + 1);
  if (depth_ > cursor_.limits().nesting) {
    cursor_.fail_at(span, fmt::format("graphs within graphs are {} deep here; at most {} are read",
                                      depth_, cursor_.limits().nesting));
  }
}

void Subgraphs::end(const GraphPtr& graph) {
  depth_of_[graph.get()] = depth_;
  for (const User& user : users_) {
    if (!user.item) {
      user.node->g_(user.attribute, graph);
      continue;
    }
    std::vector<GraphPtr> graphs = user.node->gs(user.attribute);
    graphs[*user.item] = graph;
    user.node->gs_(user.attribute, std::move(graphs));
  }
  users_.clear();
}

void Subgraphs::check_all() const {
  for (const auto& [name, users] : waiting_) {
    if (users.empty()) continue;
    cursor_.fail_at(users.front().span,
                    fmt::format("'{}' is not defined by a line 'with {} = graph(…)'", name, name));
  }
}

}  // namespace opyard::jit::detail
