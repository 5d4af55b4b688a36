// text/body.cpp: parser of bodies, and the check of what they write.
#include "opyard/jit/body.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/callee.h"

namespace opyard::jit {
namespace {

constexpr std::size_t kMostBytes = 1 << 16;

// A body writes in place what its schema says, and else tensors that it made.
void check_argument_writes(const Graph& graph, const Schema& schema) {
  detail::each_node(graph.block(), [&](const Node* node) {
    const auto callee = detail::find_callee(*node);
    if (!callee) return;
    const std::vector<Argument>& declared = callee->schema().arguments;
    for (std::size_t i = 0; i < std::min(node->inputs().size(), declared.size()); ++i) {
      const auto& alias = declared[i].alias;
      const Value* input = node->inputs()[i];
      while (input->node()->kind() == prim::unchecked_cast) input = input->node()->input();
      if (!alias || !alias->is_write || input->node() != graph.param_node()) continue;
      const Argument& argument = schema.arguments[input->offset()];
      if (argument.alias && argument.alias->is_write) continue;
      fail(ErrorKind::BadGraph,
           fmt::format("{}: {} writes to argument '{}', of which the schema does not say so; write "
                       "Tensor(a!) there, or call what gives a new tensor",
                       node->source_range().text(), node->kind().qual_string(), argument.name));
    }
  });
}

}  // namespace

GraphPtr parse_body(const Schema& schema, std::string_view text) {
  std::vector<ExpressionInput> inputs;
  for (const Argument& argument : schema.arguments)
    inputs.push_back({argument.name, argument.type});
  ExpressionOptions options;
  options.name_space = std::string(schema.name.name_space());
  options.source = fmt::format("the body of {}", to_string(schema.name));
  options.limits.bytes = kMostBytes;
  options.results.emplace();
  for (const Argument& result : schema.results) options.results->push_back(result.type);
  GraphPtr graph = parse_expression(text, inputs, options);
  check_argument_writes(*graph, schema);
  return graph;
}

}  // namespace opyard::jit
