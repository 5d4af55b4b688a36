// ir/node_rules.cpp: verification rules for kinds of nodes.
#include "ir/node_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "opyard/detail/base/made_once.h"

namespace opyard::jit::detail {
namespace {

void check_blocks(const Node& node, std::size_t wanted) {
  if (node.blocks().size() == wanted) return;
  refuse_node(node, fmt::format("has {} blocks; it takes {}", node.blocks().size(), wanted));
}

void check_if(const Node& node) {
  check_blocks(node, 2);
  if (node.inputs().size() != 1) refuse_node(node, "takes one condition");
  for (const Block* const block : node.blocks()) {
    if (!block->inputs().empty()) refuse_node(node, "has a branch with inputs");
    if (block->outputs().size() != node.outputs().size()) {
      refuse_node(node, fmt::format("gives {} values, but a branch gives {}", node.outputs().size(),
                                    block->outputs().size()));
    }
  }
}

// Inputs: trip count, condition, what is carried. The body takes the trip and what is carried, and
// gives the next condition and what is carried.
void check_loop(const Node& node) {
  check_blocks(node, 1);
  if (node.inputs().size() < 2) refuse_node(node, "takes a trip count and a condition");
  const std::size_t carried = node.inputs().size() - 2;
  const Block& body = *node.blocks().front();
  if (node.outputs().size() != carried || body.inputs().size() != carried + 1 ||
      body.outputs().size() != carried + 1) {
    refuse_node(node,
                fmt::format("carries {} values, but gives {}, and its body takes {} and gives "
                            "{} besides trip and condition",
                            carried, node.outputs().size(),
                            std::max<std::size_t>(body.inputs().size(), 1) - 1,
                            std::max<std::size_t>(body.outputs().size(), 1) - 1));
  }
}

void check_constant(const Node& node) {
  if (!node.inputs().empty()) refuse_node(node, "takes inputs; a constant has none");
  if (node.outputs().size() != 1) refuse_node(node, "gives one value");
}

// The letters of a calling string: c or s for an argument of Python, d or t for an input.
void check_calling_string(const Node& node) {
  const Attribute* const letters = node.find_attribute(attr::cconv);
  if (letters == nullptr || letters->kind() != AttributeKind::s) {
    refuse_node(node, "has no calling string, which is the text attribute 'cconv'");
  }
  const std::string& text = std::get<std::string>(letters->value);
  const auto inputs =
      std::count_if(text.begin(), text.end(), [](char c) { return c == 't' || c == 'd'; });
  const auto scalars =
      std::count_if(text.begin(), text.end(), [](char c) { return c == 's' || c == 'c'; });
  if (std::size_t(inputs + scalars) != text.size()) {
    refuse_node(node,
                fmt::format("has the calling string '{}'; its letters are c, s, d and t", text));
  }
  if (std::size_t(inputs) != node.inputs().size()) {
    refuse_node(
        node, fmt::format("has the calling string '{}', which is for {} inputs, and takes {}", text,
                          inputs, node.inputs().size()));
  }
  const Attribute* const given = node.find_attribute(Symbol::attr("scalar_args"));
  if (given == nullptr || given->kind() != AttributeKind::ival) return;
  const auto& held = std::get<opyard::Value>(given->value);
  if (held.is_tuple() && held.to_tuple().size() != std::size_t(scalars)) {
    refuse_node(node,
                fmt::format("has the calling string '{}', which is for {} scalars, and holds {}",
                            text, scalars, held.to_tuple().size()));
  }
}

const Graph& require_subgraph(const Node& node) {
  const Graph* const graph = find_subgraph(node);
  if (graph == nullptr) refuse_node(node, "has no graph in the attribute 'Subgraph'");
  return *graph;
}

void check_fusion_group(const Node& node) {
  const Graph& graph = require_subgraph(node);
  std::optional<Device> device;
  for (const Value* const input : node.inputs()) {
    const TensorShape* const shape = find_shape(*input->type());
    if (shape == nullptr || !shape->device) continue;
    if (device && *device != *shape->device) {
      refuse_node(node, fmt::format("takes tensors on {} and on {}", to_string(*device),
                                    to_string(*shape->device)));
    }
    device = shape->device;
  }
  if (graph.inputs().size() != node.inputs().size() ||
      graph.outputs().size() != node.outputs().size()) {
    refuse_node(node, "differs from its Subgraph in the number of inputs or outputs");
  }
}

// The inputs of the graph are the node's, and its outputs are what the future holds.
void check_fork(const Node& node) {
  const Graph& graph = require_subgraph(node);
  if (node.outputs().size() != 1) refuse_node(node, "gives one future");
  if (!node.blocks().empty()) refuse_node(node, "has a block; it runs the graph in its 'Subgraph'");
  if (graph.stage() != 0) refuse_node(node, "has a Subgraph of several stages");
  if (graph.inputs().size() != node.inputs().size()) {
    refuse_node(node, fmt::format("has {} inputs, but its Subgraph takes {}", node.inputs().size(),
                                  graph.inputs().size()));
  }
}

void check_pullbacks(const Node& node) {
  for (std::size_t i = 0; i + 1 < node.inputs().size(); ++i) {
    if (node.inputs()[i]->is_pullback()) {
      refuse_node(node, fmt::format("takes the pullback %{} at position {}; a pullback is the last "
                                    "input, and there is one at most",
                                    node.inputs()[i]->printed_name(), i));
    }
  }
  if (!node.blocks().empty()) return;  // they hand on whatever their blocks give
  for (std::size_t i = 0; i + 1 < node.outputs().size(); ++i) {
    if (node.outputs()[i]->is_pullback()) {
      refuse_node(node, fmt::format("gives the pullback %{} at position {}; a pullback is the last "
                                    "output, and there is one at most",
                                    node.outputs()[i]->printed_name(), i));
    }
  }
}

}  // namespace

const Graph* find_subgraph(const Node& node) {
  if (node.kind() != prim::FusionGroup && node.kind() != prim::fork) return nullptr;
  const Attribute* const inner = node.find_attribute(attr::Subgraph);
  if (inner == nullptr || inner->kind() != AttributeKind::g) return nullptr;
  return std::get<GraphPtr>(inner->value).get();
}

bool is_wait(const Node& node) {
  return node.kind() == aten::wait && node.inputs().size() == 1 && node.outputs().size() == 1 &&
         node.inputs()[0]->type()->kind() == TypeKind::Future;
}

const RareNames& rare_names() {
  static constinit MadeOnce<RareNames> names;
  return names.get([] {
    return std::unique_ptr<const RareNames>(
        new RareNames{Symbol::from_qual_string("prim::Uninitialized"),
                      Symbol::from_qual_string("prim::isinstance"), Symbol::attr("types")});
  });
}

std::string describe_node(const Node& node) {
  std::string text;
  for (const Value* const output : node.outputs()) {
    text += text.empty() ? "%" : ", %";
    text += output->printed_name();
  }
  if (!text.empty()) text += " = ";
  text += node.kind().qual_string();
  text += fmt::format(" (stage {}", node.stage());
  if (node.source_range().known()) text += ", " + node.source_range().text();
  return text + ")";
}

void refuse_node(const Node& node, std::string_view what) {
  fail(ErrorKind::BadGraph, fmt::format("{} {}", describe_node(node), what));
}

void check_kind_rules(const Node& node) {
  if (node.kind() == prim::Constant) check_constant(node);
  if (node.kind() == prim::PythonOp) check_calling_string(node);
  if (node.kind() == prim::FusionGroup) check_fusion_group(node);
  if (node.kind() == prim::fork) check_fork(node);
  if (node.kind() == prim::Undefined && !node.inputs().empty()) {
    refuse_node(node, "takes inputs; it gives an undefined tensor and takes nothing");
  }
  if (node.kind() == prim::If) check_if(node);
  if (node.kind() == prim::Loop) check_loop(node);
  check_pullbacks(node);
}

}  // namespace opyard::jit::detail
