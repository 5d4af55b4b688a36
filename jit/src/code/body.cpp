// code/body.cpp: compilation and runs of the bodies of composite kernels, for the dispatcher.
#include "opyard/jit/body.h"

#include "ir/callee.h"
#include "opyard/detail/registry/body.h"
#include "opyard/jit/code.h"

namespace opyard::jit {
namespace {

CountedPtr<const Counted> compile_body(const Schema& schema, std::string_view text,
                                       std::vector<OperatorName>& calls) {
  GraphPtr graph = parse_body(schema, text);
  detail::each_node(graph->block(), [&](const Node* node) {
    const auto callee = detail::find_callee(*node);
    if (callee && callee->op != nullptr) calls.push_back(callee->op->name());
  });
  return compile(std::move(graph));
}

void run_body_code(const Counted& compiled, Stack& stack) {
  const Code& code = static_cast<const Code&>(compiled);
  const std::span<opyard::Value> arguments = stack.top(code.graph().inputs().size());
  const std::size_t count = code.output_count(0);
  if (count == 1) {
    opyard::Value result;
    code.run(arguments, {&result, 1});
    stack.drop(arguments.size());
    stack.push(std::move(result));
    return;
  }
  std::vector<opyard::Value> results = code.run(arguments);
  stack.drop(arguments.size());
  for (opyard::Value& result : results) stack.push(std::move(result));
}

constexpr opyard::detail::BodyFunctions kBodyFunctions{&compile_body, &run_body_code};
[[maybe_unused]] const bool body_functions_are_set =
    (opyard::detail::set_body_functions(kBodyFunctions), true);

}  // namespace
}  // namespace opyard::jit
