// prepared/store_activations.cpp: sums and clamping activations, done as a convolution stores.
//
//   %y = aten::conv2d(%x, %w, %b, …)
//   %s = aten::add(%y, %r)               %z = opyard::convolution_stored(%x, …, %r, 0, inf)
//   %z = aten::relu(%s)
//
// The bits are those of the operators. What is between them is used by them alone, and nothing that
// they take is written anywhere, so that the convolution may move to the place of the last of them.
// Weights are float32 or float64.
#include <limits>

#include "opyard/jit/passes.h"
#include "opyard/value/list.h"
#include "prepared/preparing.h"

namespace opyard::jit::prepared {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Range {
  double least, most;
};

// Of an activation that clamps: what it lets pass.
std::optional<Range> find_range(const Node& node) {
  if (node.outputs().size() != 1) return std::nullopt;
  if (is_one_of(node, {"aten::relu"}) && node.inputs().size() == 1) return Range{0, kInfinity};
  if (is_one_of(node, {"aten::relu6"}) && node.inputs().size() == 1) return Range{0, 6};
  if (!is_one_of(node, {"aten::hardtanh"})) return std::nullopt;
  const auto bound = [&](std::size_t index, double otherwise) {
    return index < node.inputs().size() ? find_number(node.input(index)) : otherwise;
  };
  const std::optional<double> least = bound(1, -1), most = bound(2, 1);
  if (!least || !most || !(*least < *most)) return std::nullopt;
  return Range{*least, *most};
}

bool is_sum(const Node& node) {
  if (!is_one_of(node, {"aten::add"}) || node.inputs().size() < 2) return false;
  for (int i = 0; i < 2; ++i) {
    if (node.inputs()[std::size_t(i)]->type()->kind() != TypeKind::Tensor) return false;
  }
  return node.inputs().size() == 2 ||
         (node.inputs().size() == 3 && find_number(node.input(2)) == 1.0);
}

bool has_named_padding(const Node& convolution) {
  return !is_one_of(convolution, {"aten::convolution"}) && convolution.inputs().size() > 4 &&
         convolution.input(4)->type()->kind() != TypeKind::List;
}

bool has_float_weight(const Node& convolution) {
  const Tensor* const weight = find_tensor(convolution.input(1));
  return weight != nullptr &&
         (weight->dtype() == DType::Float32 || weight->dtype() == DType::Float64);
}

class ActivationStorer {
 public:
  explicit ActivationStorer(Graph& graph) : graph_(graph), aliases_(graph) {}

  std::size_t run() {
    std::size_t places = 0;
    for (auto next = graph_.nodes().begin(); next != graph_.nodes().end();) {
      Node* const node = *next;
      ++next;
      places += visit(*node);
    }
    return places;
  }

 private:
  // An activation, with what is before it; or a sum that no activation follows.
  std::size_t visit(Node& node) {
    std::optional<Range> range = find_range(node);
    Node* last = range ? node.input(0)->node() : &node;
    if (range && !is_used_once(node.input(0))) return 0;
    Node* sum = nullptr;
    if (is_sum(*last)) {
      if (!range && will_be_clamped(*last)) return 0;
      sum = last;
    } else if (!range) {
      return 0;
    }
    if (!range) range = Range{-kInfinity, kInfinity};
    if (sum == nullptr) return store(node, *last, nullptr, *range);
    for (std::size_t i = 0; i < 2; ++i) {
      Node* const convolution = sum->input(i)->node();
      if (sum->input(0) != sum->input(1) && store(node, *convolution, sum->input(1 - i), *range)) {
        return 1;
      }
    }
    return 0;
  }

  static bool is_used_once(const Value* value) { return value->uses().size() == 1; }

  static bool will_be_clamped(const Node& sum) {
    const Value& output = *sum.output();
    return is_used_once(&output) && find_range(*output.uses()[0].user).has_value();
  }

  bool may_move(const Node& convolution) const {
    if (aliases_.is_written(convolution.output())) return false;
    for (const Value* const input : convolution.inputs()) {
      if (aliases_.is_written(input)) return false;
    }
    return true;
  }

  std::size_t store(Node& last, Node& convolution, Value* added, Range range) {
    if (!is_convolution(convolution) || has_named_padding(convolution) ||
        !has_float_weight(convolution))
      return 0;
    if (!is_used_once(convolution.output()) || !may_move(convolution)) return 0;
    const bool is_full = is_one_of(convolution, {"aten::convolution"});
    const auto given = [&](std::size_t index, const opyard::Value& otherwise, TypePtr type) {
      return index < convolution.inputs().size() ? convolution.input(index)
                                                 : insert_constant(last, otherwise, type);
    };
    const auto number = [&](std::int64_t each) {
      return opyard::Value::list({opyard::Value(each)});
    };
    const TypePtr ints = list_of(base_type(TypeKind::Int));
    Value* const bias = given(2, opyard::Value(), {});
    Value* const stride = given(3, number(1), ints);
    Value* const padding = given(4, number(0), ints);
    Value* const dilation = given(5, number(1), ints);
    Value* const groups = given(is_full ? 8 : 6, opyard::Value(std::int64_t{1}), {});
    Value* const addend = added != nullptr ? added : insert_constant(last, opyard::Value());
    Value* const least = insert_constant(last, opyard::Value(range.least));
    Value* const most = insert_constant(last, opyard::Value(range.most));
    Value* const made = insert_call(last, "opyard::convolution_stored",
                                    {convolution.input(0), convolution.input(1), bias, stride,
                                     padding, dilation, groups, addend, least, most});
    replace(last, made);
    return 1;
  }

  Graph& graph_;
  const Aliases aliases_;
};

}  // namespace

std::size_t store_activations(Graph& graph) {
  const std::size_t places = ActivationStorer(graph).run();
  if (places > 0) passes::eliminate_dead_code(graph);
  return places;
}

}  // namespace opyard::jit::prepared
