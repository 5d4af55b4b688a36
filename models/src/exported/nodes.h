// exported/nodes.h: the nodes of an exported program as nodes of a graph.
//
// [Checks] Assertions on sizes become prim::If nodes that raise. Those on the dtype of a tensor in
// between go: they follow from the inputs, which are checked.
//
// [Control flow] cond becomes prim::If; while_loop prim::Loop, whose test is in the graph twice:
// before the loop, and at the end of its body. scan and map become prim::Loop as well, which
// appends what each step gives to lists that are stacked behind it. What runs without gradients
// becomes nodes among the others, on detached inputs; what runs without autocast, which is all
// that runs here, on its inputs. The graphs in a node name their own values and see no others.
//
// [Numbers] PyTorch passes a number where a tensor is wanted as a tensor that takes no part in
// promotion. That is what the overload for a Scalar does. A number in front of the tensors becomes
// a tensor without dimensions, of the dtype of the result if it is a float.
//
// [Constants] torch.tensor() in forward() is exported as lift_fresh_copy(), a clone of a constant,
// and detach_(), of which a clone of a constant has no need: detach() gives its result.
//
// [Views] PyTorch leaves a contiguous() out if the tensor was contiguous there, and what is
// contiguous there may not be here. So aten::view becomes aten::reshape, which is the same view
// if there can be one, and a copy else.
//
// Depends on: exported/arguments.h, exported/refusals.h.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "exported/arguments.h"
#include "exported/refusals.h"
#include "opyard/schema/schema.h"

namespace opyard::jit {

class NodeConverter {
 public:
  NodeConverter(Graph& graph, std::string what)
      : graph_(graph), what_(std::move(what)), refusals_(what_) {}

  // Inserts every node of {"nodes": […]}; what cannot run goes to the refusals.
  void convert_nodes(const Json& graph, ExportedValues& values);
  Refusals& refusals() noexcept { return refusals_; }

 private:
  void convert_node(const Json& node, ExportedValues& values);
  void convert_known(const std::string& target, const Json& node, const SourceRange& place,
                     ExportedValues& values);
  void look_up(const Json& node);
  void look_up_inside(const Json& argument);

  // Calls of operators and of functions on sizes.
  OperatorName overload_for_numbers(OperatorName name, const Json& node) const;
  bool is_number_for_tensor(const Json& argument, const Type& wanted) const;
  Value* tensor_of_number(const Json& argument, const Json& node, ExportedValues& values);
  std::optional<DType> dtype_of_result(const Json& node) const;
  std::vector<Value*> arguments_of(const Schema& schema, const Json& node, ExportedValues& values);
  const Value* convert_call(const OperatorName& said, const Json& node, const SourceRange& place,
                            ExportedValues& values);
  void require_constant(const Json& node, ExportedValues& values);
  void convert_size_function(const char* builtin, const Json& node, const SourceRange& place,
                             ExportedValues& values);
  void define_outputs(std::span<Value* const> given, const Json& node, ExportedValues& values);
  Value* number_of(Value* given, const std::string& kind);
  void define_items(Value* list, const Json& names, ExportedValues& values);

  // exported/assertions.cpp
  void convert_assertion(const std::string& target, const Json& node, ExportedValues& values);
  Value* compare(const char* function, Value* left, Value* right);
  void raise_unless(Value* truth, const std::string& message);

  // exported/control.cpp
  static bool is_control_flow(const std::string& target);
  bool convert_control_flow(const std::string& target, const Json& node, const SourceRange& place,
                            ExportedValues& values);
  void convert_cond(const std::vector<const Json*>& arguments, const Json& node,
                    const SourceRange& place, ExportedValues& values);
  void convert_while(const std::vector<const Json*>& arguments, const Json& node,
                     const SourceRange& place, ExportedValues& values);
  void convert_scan(const std::vector<const Json*>& arguments, std::size_t carried_lists,
                    const Json& node, const SourceRange& place, ExportedValues& values);
  void convert_grad_mode(const std::vector<const Json*>& arguments, const Json& node,
                         ExportedValues& values);
  void convert_autocast(const std::vector<const Json*>& arguments, const Json& node,
                        ExportedValues& values);
  std::vector<Value*> convert_graph(const Json& argument, std::span<Value* const> inputs);
  std::vector<Value*> operands_of(const Json& argument, ExportedValues& values);
  Value* truth_of(Value* value);

  const Json& member(const Json& object, const char* name) const {
    return require_member(object, name, what_);
  }
  const std::string& text(const Json& object, const char* name) const {
    return require_text(member(object, name), what_);
  }
  // A node with one result, of the type that its operator gives.
  Value* insert(const char* function, std::initializer_list<Value*> inputs);

  Graph& graph_;
  const std::string what_;
  Refusals refusals_;
  std::set<const Value*> lifted_;  // what lift_fresh_copy() gave
  const Json* tensors_ = nullptr;  // what the program says of the tensors of the innermost graph
};

}  // namespace opyard::jit
