// gradients/pullbacks.cpp: nodes of graphs that give pullbacks, and those that run backward from them.
#include "gradients/gradients.h"
#include "opyard/detail/graphs/shared.h"

#include "opyard/autograd/pullback.h"

namespace opyard::gradients {
namespace {

using graphs::SharedGraph;
using graphs::SharedNode;
using graphs::SharedValue;

SharedValue add_pullback_to(const SharedNode& node,
                            const std::optional<std::vector<bool>>& requires_grad) {
  return graphs::share(node.graph, autograd::add_pullback(*node.item, requires_grad));
}

SharedNode create_eval_of(const SharedGraph& graph, const std::vector<SharedValue>& gradients,
                          const SharedValue& pullback) {
  std::vector<jit::Value*> items;
  for (const SharedValue& gradient : gradients) items.push_back(gradient.item);
  return graphs::share(graph.graph, autograd::create_eval(*graph.graph, items, pullback.item));
}

}  // namespace

void add_pullbacks(py::module_& module) {
  module.def("add_pullback", &add_pullback_to);
  module.def("create_eval", &create_eval_of);
  module.def("join_graphs", &autograd::join_graphs);
}

}  // namespace opyard::gradients
