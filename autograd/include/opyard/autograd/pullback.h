// opyard/autograd/pullback.h: functions in graphs that a later stage runs backward from.
//
//   jit::Value* pullback = add_pullback(*node);   the node gives a pullback, too, as its last output
//   graph->advance_stage();
//   jit::Node* eval = create_eval(*graph, {&gradient, 1}, pullback);
//
// A pullback knows where the gradients of a call's outputs begin, and the dummy function at which
// those of its inputs arrive. It is made if something uses it. The last owner's end frees the
// functions that only it leads to.
//
//   x ── PythonOp ── y        Dummy input 0 <── the functions that the call made <── edge of y
//           └── pullback           └───────────────── pullback ───────────────────┘
//
// [Boundary] A node that gives a pullback takes its inputs, and gives its outputs, without the
// history that they have outside of graphs, whether the pullback is used or not: gradients flow
// through pullbacks alone.
//
// [Eval] A prim::Eval takes a gradient for each output of that call and, last, the pullback; it
// gives a gradient for each input that was said to require one, undefined for those that nothing
// leads to. It keeps the graph, since other pullbacks may lead to the same functions, and tapes
// what it does, so that it can give a pullback itself.
//
// [Through] What an Eval gives comes of its gradients, and of the inputs of the call that its
// pullback is of. passes::differentiate() makes it reach both: with the attribute "reaches_through"
// the pullback of an Eval leads to these inputs, too, and an Eval from it gives their gradients
// last. What nothing leads to is zeros then, by the attribute "gives_zeros", since formulas go on
// from it.
//
// Depends on: autograd/function.h, jit/operation.h, value/object.h.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "opyard/autograd/function.h"
#include "opyard/jit/operation.h"
#include "opyard/value/object.h"

namespace opyard::autograd {

class OPYARD_API Pullback final : public Object {
 public:
  Pullback(FunctionPtr inputs, std::vector<Edge> outputs, CountedPtr<const Pullback> below = {})
      : inputs_(std::move(inputs)), outputs_(std::move(outputs)), below_(std::move(below)) {}

  // The dummy function; its inputs are the gradients of the call's inputs.
  const FunctionPtr& inputs() const noexcept { return inputs_; }
  // By output of the call; without a function for one that has no gradient.
  std::span<const Edge> outputs() const noexcept { return outputs_; }
  // Of an Eval that reaches through: the pullback that it ran from; else null.
  const CountedPtr<const Pullback>& below() const noexcept { return below_; }

 private:
  const FunctionPtr inputs_;
  const std::vector<Edge> outputs_;
  const CountedPtr<const Pullback> below_;
};

// Makes the pullback of one call: its inputs and outputs pass through it.
class OPYARD_API PullbackBuilder {
 public:
  // Without a pullback, inputs and outputs are passed on without history, and nothing is noted.
  explicit PullbackBuilder(bool makes_pullback);

  // The input as the call takes it. One that requires a gradient takes the next number, also if it
  // is undefined or has integers, for which there is none.
  opyard::Value add_input(const opyard::Value& input, bool requires_gradient);
  opyard::Value add_output(const opyard::Value& output);
  // The pullback; None if none is made.
  opyard::Value take(CountedPtr<const Pullback> below = {});

 private:
  const FunctionPtr dummy_;  // null if no pullback is made
  std::vector<Edge> outputs_;
};

// Evaluation of prim::Eval nodes, read from texts as well, from now on in this process. Done by
// each function below, by arm(), and when opyard.autograd is imported.
OPYARD_API void join_graphs();
// Gives a node with a function of its own, as a PythonOp or a CppOp, or a prim::Eval, a pullback as
// its last output. `requires_gradient` has an item for each tensor among the inputs; without it all
// require one. Raises BadValue for a node that has no function, or has a pullback.
OPYARD_API jit::Value* add_pullback(jit::Node& node,
                                    std::optional<std::vector<bool>> requires_gradient = {});
// A prim::Eval that is in no block yet, for a pullback that add_pullback() gave. Raises BadValue
// for another number of gradients than that node's outputs.
OPYARD_API jit::Node* create_eval(jit::Graph& graph, std::span<jit::Value* const> gradients,
                                  jit::Value* pullback);

}  // namespace opyard::autograd
