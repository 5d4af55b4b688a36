// text/print.cpp: graph printer.
//
// [Subgraphs] The graphs that a node holds in attributes are written behind the graph, as
// "with prim::FusionGroup_0 = graph(...)". The node's line calls itself by the name of its
// Subgraph, and names others behind their attributes. Nodes of one kind that share a graph have one
// name.
#include "opyard/jit/print.h"

#include <fmt/format.h>

#include <map>

#include "opyard/jit/types.h"
#include "text/print_attribute.h"

namespace opyard::jit {
namespace {

class GraphPrinter {
 public:
  explicit GraphPrinter(const PrintOptions& options) : options_(options) {}

  void print(const Graph& graph) {
    print_graph(graph);
    // See [Subgraphs]. One that is printed may bring more.
    for (std::size_t i = 0; i < subgraphs_.size(); ++i) {
      const auto [name, inner] = subgraphs_[i];
      out_ += "with " + name + " = ";
      print_graph(*inner);
    }
  }

  void print_line(const Node& node) {
    const char* separator = "";
    for (const Value* const output : node.outputs()) {
      out_ += separator;
      print_typed(*output);
      separator = ", ";
    }
    if (!node.outputs().empty()) out_ += " = ";
    if (node.kind() == prim::PythonOp && node.has_attribute(attr::name)) {
      print_python(node);
    } else {
      print_kind(node);
    }
    print_names('(', node.inputs(), ')');
    if (!node.scope().empty()) out_ += ", scope: " + node.scope();
    if (options_.source_ranges && node.source_range().known()) {
      out_ += " # " + node.source_range().text();
    }
  }

  std::string take() && { return std::move(out_); }

 private:
  using Subgraph = std::pair<std::string, const Graph*>;

  void print_graph(const Graph& graph) {
    print_heading(graph, 0);
    int stage = 0;
    for (const Node* const node : graph.nodes()) {
      advance(graph, stage, node->stage());
      print_node(*node, 2);
    }
    advance(graph, stage, graph.stage());
    print_return(graph, stage);
  }

  void print_typed(const Value& value) {
    out_ += '%';
    out_ += value.printed_name();
    out_ += " : ";
    out_ += type_text(*value.type());
  }

  void print_names(char open, std::span<Value* const> values, char close) {
    out_ += open;
    const char* separator = "";
    for (const Value* const value : values) {
      out_ += separator;
      out_ += '%';
      out_ += value->printed_name();
      separator = ", ";
    }
    out_ += close;
  }

  void print_heading(const Graph& graph, int stage) {
    const std::string begin = stage == 0 ? "graph(" : fmt::format("stage {}(", stage);
    out_ += begin;
    const std::string separator = ",\n" + std::string(begin.size(), ' ');
    bool first = true;
    int reached = 0;
    for (const Value* const input : graph.inputs()) {
      // An input belongs to the stage that takes it: its own, or that of one before it.
      reached = std::max(reached, input->stage());
      if (reached != stage) continue;
      if (!first) out_ += separator;
      print_typed(*input);
      first = false;
    }
    out_ += "):\n";
  }

  void print_return(const Graph& graph, int stage) {
    std::vector<Value*> outputs;
    int reached = 0;
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
      reached = std::max(reached, graph.output_stage(i));
      if (reached == stage) outputs.push_back(graph.outputs()[i]);
    }
    out_ += "  return ";
    print_names('(', outputs, ')');
    out_ += '\n';
  }

  void advance(const Graph& graph, int& stage, int wanted) {
    while (stage < wanted) {
      print_return(graph, stage);
      print_heading(graph, ++stage);
    }
  }

  // See [Subgraphs].
  std::string name_of_graph(const Node& node, const Graph& graph) {
    const auto [known, fresh] = numbers_.try_emplace({node.kind(), &graph}, subgraphs_.size());
    std::string name = fmt::format("{}_{}", node.kind().qual_string(), known->second);
    if (fresh) subgraphs_.emplace_back(name, &graph);
    return name;
  }

  void print_kind(const Node& node) {
    std::string attributes;
    std::string kind(node.kind().qual_string());
    if (node.overload().defined()) kind += '.' + std::string(node.overload().name());
    const detail::GraphNames names = [&](const Graph& graph) { return name_of_graph(node, graph); };
    for (const Attribute& attribute : node.attributes()) {
      const std::string text = detail::attribute_text(attribute, names);
      if (attribute.name == attr::Subgraph && attribute.kind() == AttributeKind::g) {
        kind = text;
        continue;
      }
      attributes += attributes.empty() ? "" : ", ";
      attributes += attribute.name.name();
      attributes += '=';
      attributes += text;
    }
    out_ += kind;
    if (!attributes.empty()) out_ += '[' + attributes + ']';
  }

  // "^Name(scalars)"; the calling string too, unless it is all scalars and then all inputs.
  void print_python(const Node& node) {
    out_ += '^' + node.s(attr::name);
    std::vector<opyard::Value> scalars;
    if (node.has_attribute(Symbol::attr("scalar_args"))) {
      scalars = node.ival(Symbol::attr("scalar_args")).to_tuple();
    }
    const std::string plain =
        std::string(scalars.size(), 's') + std::string(node.inputs().size(), 't');
    if (node.has_attribute(attr::cconv) && node.s(attr::cconv) != plain) {
      out_ += "[cconv=" + quoted_text(node.s(attr::cconv)) + ']';
    }
    out_ += '(';
    const char* separator = "";
    for (const opyard::Value& scalar : scalars) {
      out_ += separator;
      out_ += detail::literal_text(scalar);
      separator = ", ";
    }
    out_ += ')';
  }

  void print_node(const Node& node, std::size_t indent) {
    out_.append(indent, ' ');
    print_line(node);
    out_ += '\n';
    for (std::size_t i = 0; i < node.blocks().size(); ++i) {
      const Block& block = *node.blocks()[i];
      out_.append(indent + 2, ' ');
      out_ += fmt::format("block{}(", i);
      const char* separator = "";
      for (const Value* const input : block.inputs()) {
        out_ += separator;
        print_typed(*input);
        separator = ", ";
      }
      out_ += "):\n";
      for (const Node* const inner : block.nodes()) print_node(*inner, indent + 4);
      out_.append(indent + 4, ' ');
      out_ += "-> ";
      print_names('(', block.outputs(), ')');
      out_ += '\n';
    }
  }

  const PrintOptions options_;
  std::string out_;
  std::vector<Subgraph> subgraphs_;
  std::map<std::pair<Symbol, const Graph*>, std::size_t> numbers_;  // of each among them
};

}  // namespace

std::string to_string(const Graph& graph, const PrintOptions& options) {
  GraphPrinter printer(options);
  printer.print(graph);
  return std::move(printer).take();
}

std::string to_string(const Node& node) {
  GraphPrinter printer{PrintOptions{}};
  printer.print_line(node);
  return std::move(printer).take();
}

bool is_written_out(const Tensor& tensor) { return detail::literal_text(tensor) != "<Tensor>"; }

}  // namespace opyard::jit
