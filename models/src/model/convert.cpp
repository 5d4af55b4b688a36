// model/convert.cpp: conversion of a model's floating point numbers to another dtype.
//
// A program says which dtype it computes in at five places: in its weights, in tensors of its
// graph, in the types of values, in numbers that are arguments of type ScalarType, and in what is
// wanted of its inputs. All that name a dtype of the weights name the other one afterwards. A dtype
// that no weight has is one that the program chose on purpose, such as float32 for a softmax among
// weights of bfloat16, and stays, unless nothing but inputs has floats.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "opyard/jit/constant.h"
#include "opyard/jit/resolve.h"
#include "opyard/keys/gradient_mode.h"
#include "opyard/models/model.h"
#include "opyard/registry/registry.h"

namespace opyard::jit {
namespace {

const Tensor* find_tensor(const Node& node) {
  if (node.kind() != prim::Constant || !node.has_attribute(attr::value)) return nullptr;
  return node.kind_of(attr::value) == AttributeKind::t ? &node.t(attr::value) : nullptr;
}

bool is_dtype_argument(const Type& type) {
  const Type& inner = type.kind() == TypeKind::Optional ? type.element() : type;
  return inner.kind() == TypeKind::ScalarType;
}

// Nodes inside of one come before it; what a block is given, before all of its nodes.
template <typename Visit>
void visit_nodes(Block& block, const Visit& visit) {
  visit(*block.param_node());
  for (auto next = block.nodes().begin(); next != block.nodes().end();) {
    Node* const node = *next;
    ++next;
    for (Block* const inner : node->blocks()) visit_nodes(*inner, visit);
    visit(*node);
  }
}

class Conversion {
 public:
  Conversion(Model& model, DType to) : model_(model), to_(to) {}

  void run() {
    find_dtypes();
    model_.graph = model_.graph->copy();
    for (StateTensor& each : model_.state) each.tensor = converted(each.tensor);
    visit_nodes(*model_.graph->block(), [this](Node& node) { convert(node); });
    for (InputCheck& each : model_.inputs) {
      if (each.dtype && is_one(*each.dtype)) each.dtype = to_;
    }
    if (!model_.example) return;
    for (opyard::Value& each : *model_.example) {
      if (each.is_tensor()) each = converted(each.tensor_unchecked());
    }
  }

 private:
  bool is_one(DType dtype) const { return dtypes_.contains(dtype); }
  void note(DType dtype) {
    if (is_floating_point(dtype)) dtypes_.insert(dtype);
  }

  void find_dtypes() {
    for (const StateTensor& each : model_.state) note(each.tensor.dtype());
    visit_nodes(*model_.graph->block(), [this](Node& node) {
      if (const Tensor* const tensor = find_tensor(node)) note(tensor->dtype());
    });
    if (!dtypes_.empty()) return;
    for (const InputCheck& each : model_.inputs) {
      if (each.dtype) note(*each.dtype);
    }
    for (const Value* const input : model_.graph->inputs()) {
      const TensorShape* const known = find_shape(*input->type());
      if (known != nullptr && known->dtype) note(*known->dtype);
    }
  }

  // What has several names stays one tensor.
  Tensor converted(const Tensor& tensor) {
    if (!tensor.defined() || !is_one(tensor.dtype()) || tensor.dtype() == to_) return tensor;
    Tensor& made = made_[tensor.impl().get()];
    if (!made.defined()) {
      static const Operator& convert = require_operator("aten::to.dtype");
      const GradientModeGuard off(GradientMode::NoGradients);
      Stack stack;
      stack.push(tensor);
      stack.push(std::int64_t(to_));
      stack.push(false);
      stack.push(false);
      stack.push(opyard::Value());
      convert.call_boxed(stack);
      made = stack.pop().tensor_unchecked();
    }
    return made;
  }

  void convert(Node& node) {
    for (Value* const output : node.outputs()) convert_type(*output);
    if (const Tensor* const tensor = find_tensor(node)) {
      const Tensor made = converted(*tensor);
      if (!made.same(*tensor)) replace(node, made);
      return;
    }
    if (node.kind() == prim::Constant || node.inputs().empty() || !node.blocks().empty()) return;
    if (!is_known_operator(node.kind().qual_string())) return;
    const Schema& schema = resolve(node).schema();
    for (std::size_t i = 0; i < std::min(node.inputs().size(), schema.arguments.size()); ++i) {
      if (is_dtype_argument(*schema.arguments[i].type)) convert_number(node, i);
    }
  }

  // What else was known of it stays: sizes, say.
  void convert_type(Value& value) {
    const TensorShape* const known = find_shape(*value.type());
    if (known == nullptr || !known->dtype || !is_one(*known->dtype)) return;
    TensorShape shape = *known;
    shape.dtype = to_;
    value.set_type(shaped_tensor(std::move(shape)));
  }

  void convert_number(Node& node, std::size_t input) {
    const Node& said = *node.inputs()[input]->node();
    if (said.kind() != prim::Constant) return;
    const opyard::Value value = constant_value(said);
    if (!value.is_int()) return;
    for (const DType dtype : dtypes_) {
      if (value.to_int() != std::int64_t(dtype)) continue;
      node.replace_input(input, constant_before(node, std::int64_t(to_)));
      return;
    }
  }

  Value* constant_before(Node& node, const opyard::Value& value) {
    Node* const made = model_.graph->create_constant(value);
    made->insert_before(&node);
    return made->output();
  }

  void replace(Node& node, const Tensor& tensor) {
    node.output()->replace_all_uses_with(constant_before(node, tensor));
    node.destroy();
  }

  Model& model_;
  DType to_;
  std::set<DType> dtypes_;
  std::map<const TensorImpl*, Tensor> made_;
};

}  // namespace

Model converted_model(const Model& model, DType to, const PreparationOptions& options) {
  OPYARD_CHECK(is_floating_point(to), BadValue,
               fmt::format("a model's floats become float64, float32, float16 or bfloat16, not {}",
                           name_of(to)));
  Model made = model;
  Conversion(made, to).run();
  made.code = compile(made.graph);
  prepare_model(made, options);
  return made;
}

}  // namespace opyard::jit
