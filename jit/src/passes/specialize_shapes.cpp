// passes/specialize_shapes.cpp: specialization for the sizes and strides of inputs.
//
// Elsewhere these say what an example looked like. Here the caller promises that the graph runs
// with inputs of the types that it names alone, so that no run has to ask for them. What operators
// give is not believed: a function of a user, or an override, may give any sizes. But the order in
// memory of a product that a formula of gradients makes may follow the example everywhere, since
// its elements are the same, or nearly: see mm_in_order() in kernels/src/gradients/gradients.cpp.
#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/callee.h"
#include "opyard/jit/aliases.h"
#include "opyard/jit/constant.h"
#include "opyard/jit/operation.h"
#include "opyard/jit/passes.h"
#include "passes/pass.h"

namespace opyard::jit {
namespace {

using KnownSizes = std::vector<std::int64_t>;

bool is_single_call_of(const Node* node, std::string_view name, std::size_t inputs) {
  return node->kind().qual_string() == name && node->inputs().size() == inputs &&
         node->outputs().size() == 1 && operation_of(*node) == nullptr;
}

// Those of a tensor, if all of them are known.
const KnownSizes* sizes_of(const Value* value) {
  const TensorShape* const shape = find_shape(*value->type());
  if (shape == nullptr || !shape->sizes) return nullptr;
  for (const std::int64_t size : *shape->sizes) {
    if (size == kUnknownSize) return nullptr;
  }
  return &*shape->sizes;
}

// As opyard::is_column_major has it.
std::optional<bool> find_column_major(const Value* value) {
  const KnownSizes* const sizes = sizes_of(value);
  if (sizes == nullptr) return std::nullopt;
  if (sizes->size() != 2) return false;
  const std::optional<KnownSizes>& strides = find_shape(*value->type())->strides;
  if (!strides || (*strides)[0] == kUnknownSize || (*strides)[1] == kUnknownSize) {
    return std::nullopt;
  }
  const bool is_row_major = ((*sizes)[1] == 1 || (*strides)[1] == 1) &&
                            ((*sizes)[0] == 1 || (*strides)[0] == (*sizes)[1]);
  const bool is_empty = (*sizes)[0] == 0 || (*sizes)[1] == 0;
  return !is_row_major && !is_empty && (*strides)[0] == 1 && (*strides)[1] == (*sizes)[0];
}

class Specialization {
 public:
  explicit Specialization(Graph& graph) : graph_(graph), aliases_(graph) {}

  void run() {
    detail::each_node(graph_.block(), [&](Node* node) { visit(node); });
  }

 private:
  void visit(Node* node) {
    if (node->outputs().size() != 1 || !node->output()->has_uses()) return;
    if (std::optional<opyard::Value> answer = find_answer(node)) {
      replace_by_constant(node, *std::move(answer));
    } else if (is_single_call_of(node, "opyard::mm_in_order", 3)) {
      if (is_known(node->input(2), false)) become_product(node, node->input(0), node->input(1));
    } else if (is_single_call_of(node, "aten::t", 1)) {
      const Node* const product = node->input()->node();
      if (is_single_call_of(product, "opyard::mm_in_order", 3) &&
          is_known(product->input(2), true) && may_move(node, product)) {
        become_product(node, transpose(node, product->input(1)),
                       transpose(node, product->input(0)));
      }
    }
  }

  // An input of the first stage, which nothing resizes.
  bool is_given(const Value* value) const {
    const auto given = graph_.inputs();
    return value->stage() == 0 && std::find(given.begin(), given.end(), value) != given.end() &&
           !aliases_.is_written(value);
  }

  // What a question about a tensor's sizes is answered.
  std::optional<opyard::Value> find_answer(const Node* node) const {
    if (is_single_call_of(node, "opyard::is_column_major", 1)) {
      const std::optional<bool> answer = find_column_major(node->input());
      return answer ? std::optional(opyard::Value(*answer)) : std::nullopt;
    }
    const bool all = is_single_call_of(node, "opyard::sizes", 1),
               count = is_single_call_of(node, "aten::numel", 1);
    const bool dims = is_single_call_of(node, "aten::dim", 1);
    if (!all && !count && !dims) return std::nullopt;
    const KnownSizes* const sizes = sizes_of(node->input());
    if (sizes == nullptr || !is_given(node->input())) return std::nullopt;
    if (dims) return opyard::Value(std::int64_t(sizes->size()));
    if (count) {
      std::int64_t numel = 1;
      for (const std::int64_t size : *sizes) {
        if (__builtin_mul_overflow(numel, size, &numel)) return std::nullopt;
      }
      return opyard::Value(numel);
    }
    // A constant is one list for all runs.
    if (aliases_.is_written(node->output()) || aliases_.escapes(node->output()))
      return std::nullopt;
    std::vector<opyard::Value> items(sizes->begin(), sizes->end());
    return opyard::Value::list(std::move(items));
  }

  void replace_by_constant(Node* node, const opyard::Value& answer) {
    Node* const made = graph_.create_constant(answer, node->output()->type());
    made->set_stage(node->stage())->insert_before(node);
    node->output()->replace_all_uses_with(made->output());
  }

  static bool is_known(const Value* value, bool truth) {
    const std::optional<opyard::Value> known = detail::known_value(value);
    return known && known->is_bool() && known->to_bool() == truth;
  }

  // As a factor, which is only read.
  Value* transpose(Node* before, Value* value) {
    if (is_single_call_of(value->node(), "aten::t", 1) &&
        value->node()->stage() == before->stage()) {
      return value->node()->input();
    }
    Node* const made = graph_.create(Symbol::from_qual_string("aten::t"), {value});
    made->set_stage(before->stage())->insert_before(before);
    made->set_source_range(before->source_range());
    return made->output();
  }

  // The product comes to where the node is, which alone sees it, and no write is in between.
  bool may_move(const Node* node, const Node* product) const {
    return node->stage() == product->stage() && product->output()->uses().size() == 1 &&
           !aliases_.is_written(node->output()) && !aliases_.is_written(product->output()) &&
           !aliases_.is_written(product->input(0)) && !aliases_.is_written(product->input(1));
  }

  void become_product(Node* node, Value* left, Value* right) {
    Node* const made = graph_.create(Symbol::from_qual_string("aten::mm"), {left, right});
    made->set_stage(node->stage())->insert_before(node);
    made->set_source_range(node->source_range());
    made->output()->copy_metadata(node->output());
    node->output()->replace_all_uses_with(made->output());
  }

  Graph& graph_;
  const Aliases aliases_;
};

}  // namespace

bool passes::specialize_shapes(Graph& graph) {
  return detail::run_pass(graph, [&] { Specialization(graph).run(); });
}

}  // namespace opyard::jit
