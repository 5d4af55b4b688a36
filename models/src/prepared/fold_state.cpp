// prepared/fold_state.cpp: constant folding of what depends on weights alone.
//
// A call is computed if it takes constants alone, one of them a tensor, gives new tensors or views
// of weights, is not random, and has no effects. Its results are constants from then on, so nothing
// may write them, and no output of the graph may be on their memory: a caller could write it.
//
// Sizes are looked at first, by types: a file of a stranger must not fill the memory when it is
// loaded. What is larger than all weights together stays a call.
#include <algorithm>

#include "files/own_namespaces.h"
#include "opyard/jit/code.h"
#include "opyard/jit/passes.h"
#include "prepared/preparing.h"

namespace opyard::jit::prepared {
namespace {

constexpr std::size_t kAlwaysTaken = std::size_t{1} << 20;  // bytes

std::size_t bytes_of(const Tensor& tensor) {
  return std::size_t(tensor.numel()) * item_size(tensor.dtype());
}

// Nothing for a tensor whose sizes are not known.
std::optional<std::size_t> find_bytes(const Type& type) {
  const TensorShape* const shape = find_shape(type);
  if (shape == nullptr || !shape->sizes || !shape->dtype) return std::nullopt;
  std::size_t bytes = item_size(*shape->dtype);
  for (const std::int64_t size : *shape->sizes) {
    if (size < 0 || __builtin_mul_overflow(bytes, std::size_t(size), &bytes)) return std::nullopt;
  }
  return bytes;
}

class StateFolder {
 public:
  explicit StateFolder(Graph& graph)
      : graph_(graph), aliases_(graph), known_(graph.values_made()) {}

  std::size_t run() {
    for (Node* const node : graph_.nodes()) visit(node);
    if (computed_.empty()) return 0;
    compute();
    return computed_.size();
  }

 private:
  bool is_known(const Value* value) const { return known_[value->index()]; }

  void visit(Node* node) {
    for (const Value* const output : node->outputs()) {
      const Tensor* const tensor = find_tensor(output);
      if (tensor != nullptr) left_ += bytes_of(*tensor);
    }
    const bool is_plain = node->kind() == prim::Constant || node->kind() == prim::ListConstruct;
    const bool takes_known =
        std::ranges::all_of(node->inputs(), [&](const Value* value) { return is_known(value); });
    if (!takes_known || (!is_plain && !may_be_computed(*node))) return;
    for (const Value* const output : node->outputs()) known_[output->index()] = true;
    if (is_plain) return;
    for (const Value* const output : node->outputs()) left_ -= *find_bytes(*output->type());
    computed_.push_back(node);
  }

  bool may_be_computed(const Node& node) const {
    if (!is_own_namespace(node.kind().name_space()) || !node.blocks().empty()) return false;
    if (node.kind().name().starts_with("empty")) return false;
    if (aliases_.has_effects(&node) || aliases_.writes(&node)) return false;
    std::size_t bytes = 0;
    for (const Value* const output : node.outputs()) {
      const std::optional<std::size_t> here = find_bytes(*output->type());
      if (!here || aliases_.is_written(output)) return false;
      if (__builtin_add_overflow(bytes, *here, &bytes)) return false;
      for (const Value* const returned : graph_.outputs()) {
        if (aliases_.may_share(output, returned)) return false;
      }
    }
    return !node.outputs().empty() && bytes <= left_;
  }

  // All in one run of a graph of their own.
  void compute() {
    const GraphPtr apart = make_graph();
    std::vector<Value*> inside(graph_.values_made(), nullptr), wanted;
    for (const Node* const node : graph_.nodes()) {
      const bool is_part = node->outputs().size() > 0 && is_known(node->outputs()[0]);
      if (!is_part) continue;
      Node* const copy =
          apart->create_copy(node, [&](Value* value) { return inside[value->index()]; });
      apart->append_node(copy);
      for (std::size_t i = 0; i < copy->outputs().size(); ++i) {
        inside[node->outputs()[i]->index()] = copy->outputs()[i];
      }
    }
    for (const Node* const node : computed_) {
      for (Value* const output : node->outputs()) {
        wanted.push_back(output);
        apart->register_output(inside[output->index()]);
      }
    }
    const std::vector<opyard::Value> results = compile(apart)->run({});
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      Node& node = *wanted[i]->node();
      wanted[i]->replace_all_uses_with(insert_constant(node, results[i]));
    }
  }

  Graph& graph_;
  const Aliases aliases_;
  std::vector<bool> known_;      // by the index of a value: constants, and what is computed of them
  std::vector<Node*> computed_;  // in the order of the text
  std::size_t left_ = kAlwaysTaken;
};

}  // namespace

std::size_t fold_state(Graph& graph) {
  passes::propagate_shapes(graph);
  const std::size_t places = StateFolder(graph).run();
  passes::eliminate_dead_code(graph);
  return places;
}

}  // namespace opyard::jit::prepared
