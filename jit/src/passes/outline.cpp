// passes/outline.cpp: outlining of one node.
#include "passes/outline.h"

#include <unordered_map>
#include <vector>

#include "opyard/jit/operation.h"

namespace opyard::jit::detail {
namespace {

void begin_anew(Node* node) {
  node->set_stage(0);
  for (Block* const block : node->blocks()) {
    for (Node* const inner : block->nodes()) begin_anew(inner);
  }
}

}  // namespace

Node* outline(Node& node) {
  Graph& graph = node.graph();
  const GraphPtr inner = make_graph();
  std::vector<Value*> taken;
  std::unordered_map<const Value*, Value*> inside;
  Node* const copy = inner->create_copy(&node, [&](Value* value) {
    Value*& known = inside[value];
    if (known == nullptr) {
      known = inner->add_input({}, value->type());
      taken.push_back(value);
    }
    return known;
  });
  begin_anew(copy);
  inner->append_node(copy);
  for (Value* const output : copy->outputs()) inner->register_output(output);
  CountedPtr<Operation> operation = graph_operation(std::string(node.kind().qual_string()), inner);

  Node* const function = graph.create(prim::CppOp, taken, node.outputs().size());
  function->set_payload(std::move(operation));
  function->set_stage(node.stage());
  function->set_source_range(node.source_range());
  function->insert_before(&node);
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    function->outputs()[i]->copy_metadata(node.outputs()[i]);
  }
  node.replace_all_uses_with(function);
  node.destroy();
  return function;
}

}  // namespace opyard::jit::detail
