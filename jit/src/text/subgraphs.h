// text/subgraphs.h: the graphs that nodes hold, which a text defines behind the graph they are in.
//
//   %f : Future(Tensor) = prim::fork_0(%x)               its Subgraph is the one called so
//   = ns::op[branches=[ns::op_1, ns::op_2]](%x)          an attribute of graphs
//   with prim::fork_0 = graph(…): …
//
// Depends on: text/graph_language.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/graph_language.h"

namespace opyard::jit::detail {

class Subgraphs {
 public:
  // The names that lines "with <name> = graph" of the text define.
  Subgraphs(std::string_view text, const Cursor& cursor);

  bool defines(const std::string& name) const { return waiting_.contains(name); }
  // The node gets the graph of that name, which is defined by the text, when it is read.
  void wait_for(const std::string& name, Node* node, Span span);
  // Reads graphs for an attribute if they are there: "ns::name_0" or "[ns::name_0, …]".
  bool parse_attribute(Cursor& cursor, Node* node, Symbol attribute);
  // Those that wait get this graph, which was read behind the name at `span`.
  void begin(const std::string& name, Span span);
  void end(const GraphPtr& graph);
  // Fails for one that is not defined.
  void check_all() const;

 private:
  struct User {
    Node* node;
    Symbol attribute;
    std::optional<std::size_t> item;  // in a list of graphs
    Span span;
  };
  std::string parse_name(Cursor& cursor, Span& span);

  const Cursor& cursor_;
  std::unordered_map<std::string, std::vector<User>> waiting_;
  std::vector<User> users_;                                 // of the graph that is read
  std::size_t depth_ = 0;                                   // of it
  std::unordered_map<const Graph*, std::size_t> depth_of_;  // graphs that it is in
};

}  // namespace opyard::jit::detail
