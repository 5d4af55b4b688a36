// code/graph_operation.cpp: nodes that run another graph.
#include "opyard/jit/code.h"
#include "opyard/jit/operation.h"

namespace opyard::jit {

CountedPtr<Operation> graph_operation(std::string name, GraphPtr graph) {
  return cpp_operation(std::move(name),
                       [code = compile(std::move(graph))](std::span<const opyard::Value> inputs,
                                                          std::vector<opyard::Value>& outputs) {
                         for (opyard::Value& output : code->run(inputs))
                           outputs.push_back(std::move(output));
                       });
}

}  // namespace opyard::jit
