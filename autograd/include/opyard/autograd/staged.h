// autograd/staged.h: a two-stage graph (forward, backward) as one function.
//
//   auto staged = make_counted<Staged>(compile(graph), compile(graph_with_backward), wrt, outputs);
//   staged->run(inputs, results);       // results have one Function, the whole graph's, as history
//
// What passes::differentiate() made of a graph joins the engine here: a run holds the interpreter
// state behind the first stage, and its function runs the second one from there.
//
// [State] The state holds what the backward needs, the function what the inputs were. A write to
// any of it meanwhile is found, as it is in what other functions saved: the run raises BadValue.
//
// [Replay] If the backward is itself taped (create_graph), not all results got a gradient, or a
// result has another dtype or other sizes than the graph says, since an operator gives something
// else by now, the first stage is run again, with each call taped by itself, and the engine runs
// backward from there: for these the result is what it is without a graph.
//
// Threads: a Staged is used by any number of threads, and so is a function that it made.
//
// Depends on: autograd/function.h, jit/interpreter_state.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "opyard/autograd/function.h"
#include "opyard/jit/interpreter_state.h"

namespace opyard::autograd {

class OPYARD_API Staged final : public Counted {
 public:
  // `forward` is a graph of one stage, and `both` the same with its backward, which gives a
  // gradient for each of the inputs `wrt` and takes one for each of `outputs`: positions. Raises
  // BadValue if these numbers do not fit.
  Staged(std::string name, jit::CodePtr forward, jit::CodePtr both, std::vector<std::size_t> wrt,
         std::vector<std::size_t> outputs);

  const jit::Code& forward() const noexcept { return *forward_; }
  // With gradients off nothing is saved. Raises what a run raises.
  void run(std::span<const Value> inputs, std::span<Value> results) const;

 private:
  friend class StagedFunction;

  const std::string name_;
  const jit::CodePtr forward_;
  const jit::CodePtr both_;
  const std::vector<std::size_t> wrt_;
  const std::vector<std::size_t> outputs_;
  std::vector<const jit::Value*> held_;  // by the state, behind the first stage
};

}  // namespace opyard::autograd
