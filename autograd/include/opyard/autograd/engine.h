// opyard/autograd/engine.h: backward engine: runs functions in reverse order of their making.
//
//   execute({{y_edge, ones}}, {})                         accumulates into the leaves
//   execute({{y_edge, ones}}, {.inputs = {x_edge}})       gives the gradients that arrive at edges
//
// On the calling thread. A run inside a run is made on the same thread to a depth of 60, then on a
// fresh thread that takes the thread's context along; past 6000 it is refused: RecursionError.
//
// With `inputs` only functions on the way to them run, and what arrives there is given, not
// accumulated. With `create_graph` what the functions do is taped, too.
//
// [Errors] Whatever a function throws ends the run. What was accumulated by then stays as it is;
// functions that have run without `keep_graph` have given up what they saved.
//
// Depends on: autograd/function.h.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "opyard/autograd/function.h"

namespace opyard::autograd {

// Where a backward pass begins, and the gradient that is given there.
struct Root {
  Edge edge;
  Tensor gradient;
};

struct Run {
  bool keep_graph = false;
  bool create_graph = false;
  // Edges whose gradients are given; they may lead to functions that are never run.
  std::vector<Edge> inputs = {};
  // Accumulate into the leaves that `inputs` lead to, and give nothing.
  bool accumulate = false;
  // Asked before a function runs, with its gradients, which may be changed. False: it does not run.
  std::unordered_map<Function*, std::function<bool(Function&, Gradients&)>> before = {};
};

// The gradients of run.inputs, undefined for those that nothing led to.
OPYARD_API Gradients execute(std::vector<Root> roots, const Run& run);
// Runs at the end of the run that this thread is inside of. Raises BadValue outside of one.
OPYARD_API void at_end_of_run(std::function<void()> call);
// Whether the run that this thread is inside of runs a function, or has run it, or captures its
// gradients. Raises BadValue outside of one.
OPYARD_API bool is_in_run(const Function& function);
// The number of the run that this thread is inside of, which no other has; 0 outside of one.
OPYARD_API std::uint64_t run_number() noexcept;
// Whether the run that this thread is inside of was given inputs, and accumulates for no one else.
OPYARD_API bool run_has_inputs() noexcept;
// How many runs this thread is inside of.
OPYARD_API int run_depth() noexcept;

// The function at which a graph begins. It is never run: what arrives is captured.
OPYARD_API FunctionPtr make_dummy();

}  // namespace opyard::autograd
