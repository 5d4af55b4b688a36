// prepared/write_anew.cpp: activations that write into a fresh tensor, as ones that give a new one.
//
//   %y = aten::conv2d(…)            %y = aten::conv2d(…)
//   %z = aten::relu_(%y)            %z = aten::relu(%y)
//
// A call without a new result is no part of a group that is computed in one pass, and is a barrier
// to all that may see its tensor. The group takes over the memory of what dies in it, so that no
// memory is lost.
//
// Nothing else may see the write: the tensor was made by the graph, by an operator whose result is
// new, and no view of it is taken. Sums are done so if both sides are known to have one dtype,
// since they would be promoted else.
#include <algorithm>

#include "opyard/jit/resolve.h"
#include "opyard/schema/relations.h"
#include "prepared/preparing.h"

namespace opyard::jit::prepared {
namespace {

bool is_activation(const Node& node) {
  return is_one_of(node, {"aten::relu_", "aten::relu6_", "aten::hardtanh_", "aten::silu_",
                          "aten::sigmoid_", "aten::tanh_", "aten::hardswish_", "aten::hardsigmoid_",
                          "aten::leaky_relu_", "aten::elu_", "aten::gelu_", "aten::mish_"});
}

// The dtype that a value has whatever is passed: that of the weights that it was computed with.
std::optional<DType> find_dtype(const Value* value, int depth = 0) {
  constexpr int kDeepest = 64;
  const Node& node = *value->node();
  if (depth == kDeepest) return std::nullopt;
  if (const Tensor* const tensor = find_tensor(value)) return tensor->dtype();
  if (is_one_of(node, {"aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::convolution",
                       "aten::linear"})) {
    return find_dtype(node.input(1), depth + 1);
  }
  if (is_activation(node) ||
      is_one_of(node, {"aten::relu", "aten::relu6", "aten::hardtanh", "aten::silu",
                       "aten::hardswish", "aten::batch_norm", "aten::max_pool2d",
                       "aten::avg_pool2d", "aten::adaptive_avg_pool2d", "aten::add_"})) {
    return find_dtype(node.input(0), depth + 1);
  }
  return std::nullopt;
}

bool is_sum_of_one_dtype(const Node& node) {
  if (!is_one_of(node, {"aten::add_"}) || node.inputs().size() < 2) return false;
  if (node.input(1)->type()->kind() != TypeKind::Tensor) return false;
  const std::optional<DType> one = find_dtype(node.input(0)), other = find_dtype(node.input(1));
  return one && other && *one == *other && is_floating_point(*one);
}

bool gives_new(const Node& node) {
  if (node.kind().name_space() != "aten" || node.outputs().size() != 1) return false;
  const Callee callee = resolve(node);
  return callee.op != nullptr && !is_aliasing(callee.schema(), {Side::Result, 0});
}

bool is_seen_by_it_alone(const Node& node) {
  const Value& written = *node.input(0);
  return gives_new(*written.node()) && std::ranges::all_of(written.uses(), [&](const Use& use) {
           return use.user == &node ? use.offset == 0
                                    : gives_new(*use.user) || is_activation(*use.user);
         });
}

Node* written_anew(Node& node) {
  std::string kind(node.kind().qual_string());
  kind.pop_back();
  Node* const made = node.graph().create(Symbol::from_qual_string(kind), node.inputs());
  if (node.overload().defined()) made->set_overload(node.overload());
  made->set_source_range(node.source_range());
  made->insert_before(&node);
  made->output()->set_type(node.output()->type());
  return made;
}

}  // namespace

std::size_t write_anew(Graph& graph) {
  std::size_t places = 0;
  for (auto next = graph.nodes().begin(); next != graph.nodes().end();) {
    Node* const node = *next;
    ++next;
    if (!is_activation(*node) && !is_sum_of_one_dtype(*node)) continue;
    if (node->outputs().size() != 1 || !is_seen_by_it_alone(*node)) continue;
    Value* const written = node->input(0);
    Node* const made = written_anew(*node);
    written->replace_all_uses_after(node, made->output());
    replace(*node, made->output());
    ++places;
  }
  return places;
}

}  // namespace opyard::jit::prepared
