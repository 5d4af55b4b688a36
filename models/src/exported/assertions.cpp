// exported/assertions.cpp: size assertions of exported programs; see [Checks].
#include <fmt/format.h>

#include "exported/nodes.h"
#include "opyard/base/error.h"

namespace opyard::jit {

void NodeConverter::convert_assertion(const std::string& target, const Json& node,
                                      ExportedValues& values) {
  const Json& inputs = require_array(member(node, "inputs"), what_);
  if (target == "torch.ops.aten._assert_scalar.default") {
    OPYARD_CHECK(inputs.size() == 2, BadValue, fmt::format("{}: an assertion without text", what_));
    Value* const truth = values.argument(member(inputs[0], "arg"), *base_type(TypeKind::Any));
    raise_unless(truth, text(member(inputs[1], "arg"), "as_string"));
    return;
  }
  if (target == "torch.ops.aten._assert_tensor_metadata.default") return;
  Value* size = nullptr;
  for (const Json& input : inputs) {
    const std::string& name = text(input, "name");
    Value* const value = values.argument(member(input, "arg"), *base_type(TypeKind::Any));
    if (name == "size") size = value;
    if (size == nullptr || value->type()->kind() != TypeKind::Int) continue;
    if (name == "min") raise_unless(compare("aten::ge", size, value), "a size is below its range");
    if (name == "max") raise_unless(compare("aten::le", size, value), "a size is above its range");
  }
}

Value* NodeConverter::compare(const char* function, Value* left, Value* right) {
  Node* const node = graph_.create(Symbol::from_qual_string(function), {left, right}, 1);
  node->output()->set_type(base_type(TypeKind::Bool));
  graph_.insert_node(node);
  return node->output();
}

void NodeConverter::raise_unless(Value* truth, const std::string& message) {
  OPYARD_CHECK(truth->type()->kind() == TypeKind::Bool, Unsupported, "asserts what is no bool");
  Node* const branch = graph_.create(prim::If, {truth}, 0);
  graph_.insert_node(branch);
  branch->add_block();
  Block* const otherwise = branch->add_block();
  Node* const said = otherwise->append_node(graph_.create_constant(opyard::Value(message)));
  otherwise->append_node(graph_.create(prim::RaiseException, {said->output()}, 0));
}

}  // namespace opyard::jit
