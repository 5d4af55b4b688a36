// passes/canonical.cpp: canonical numbering of unnamed values.
#include <unordered_map>

#include "opyard/jit/passes.h"
#include "passes/pass.h"

namespace opyard::jit {
namespace {

using CanonicalNumbers = std::vector<Graph::Numbered>;

void add(std::span<Value* const> values, CanonicalNumbers& numbers) {
  for (Value* const value : values) numbers.push_back({numbers.size(), value});
}

void number(const Block* block, CanonicalNumbers& numbers) {
  add(block->inputs(), numbers);
  for (const Node* const node : block->nodes()) {
    add(node->outputs(), numbers);
    for (const Block* const inner : node->blocks()) number(inner, numbers);
  }
}

}  // namespace

bool passes::canonicalize(Graph& graph) {
  return detail::run_pass(graph, [&] {
    CanonicalNumbers numbers;
    number(graph.block(), numbers);
    for (const auto& [wanted, value] : numbers) {
      if (value->unique() != wanted) {
        graph.renumber(numbers);
        return;
      }
    }
  });
}

}  // namespace opyard::jit
