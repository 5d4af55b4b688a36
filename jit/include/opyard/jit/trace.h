// opyard/jit/trace.h: tracing: a graph of the operators that a program calls.
//
//   Trace trace;
//   Value* x = trace.add_input(tensor, "x");
//   {
//     const TraceGuard guard(trace);      // this thread's calls are traced, and made as ever
//     y = add.call(mul.call(tensor, tensor), tensor);
//   }
//   trace.register_output(y);
//   GraphPtr graph = trace.finish();
//
// While a trace runs, the key Tracer is in its thread's include set, and a fallback there sees each
// call before the layers below do: it makes a node with the operator's whole schema of arguments,
// and then makes the call with the key excluded. So composite operators, modes and classes of
// tensors are one node, and run anew when the graph runs.
//
// [Identity] A tensor that a traced call gave, or that is an input, is known by its TensorImpl:
// passed to another call it is that value of the graph. A tensor that is not known is a constant of
// the graph, with its memory. All of them are held until the trace ends, so that no address is used
// twice. A tensor that is not known but is in the memory of one that is, as an array of another
// library may, is an error: the graph would hold the numbers of the example.
//
// [Constants] Equal numbers, texts and lists are one constant; so is the same tensor. Those that
// nothing uses in the end are gone.
//
// Numbers that a call gives are outputs of its node that nothing uses: code that uses such a number
// uses a constant. What a layer above the trace does between two calls is not in the graph.
//
// [Functions] A function that is no operator, such as one with a backward of its own, is a node
// that runs it anew. What it calls is not traced by itself. If it writes into what it takes, the
// node says so by the attribute "writes", which numbers these inputs.
//
// Threads: a trace is of one thread. A call that a traced program makes on another thread with this
// one's context raises Unsupported.
//
// Depends on: jit/graph.h, registry/operator.h.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/jit/graph.h"
#include "opyard/keys/local.h"
#include "opyard/registry/operator.h"
#include "opyard/value/stack.h"

namespace opyard::jit {

struct TraceData;  // trace/trace_data.h

struct TraceOptions {
  // Where the traced program is; asked for each node. May be empty. What it throws ends the call.
  std::function<SourceRange()> where;
  // The scope of each node: the modules of the program that call it. Empty: none.
  std::function<std::string()> scope = {};
  // An operator that is composed of others, and has no derivative of its own, is traced as these:
  // differentiate() needs what has formulas.
  bool parts = false;
  // What cannot be traced ends the trace and not the program: calls are made as ever from then on,
  // and failure() says why. So does a call for which gradients are enabled, or keys included,
  // otherwise than when the trace began: a graph does not hold these.
  bool observes = false;
};

class OPYARD_API Trace {
 public:
  explicit Trace(TraceOptions options = {});
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace();

  // Before the trace begins. A tensor that is an input already raises BadArgument: copy it, or
  // alias() it.
  Value* add_input(const Tensor& tensor, std::string_view name = {});
  // A tensor that the program made of its own numbers, anew at each run: where it is first used the
  // graph makes a copy of what it is then, so that a run can write into it.
  void add_made(const Tensor& tensor);
  // The value that the tensor is now; null if it is not known.
  Value* find(const Tensor& tensor) const noexcept;
  // The same, or a constant. Raises Unsupported: see [Identity].
  Value* value_of(const Tensor& tensor);
  void register_output(const Tensor& tensor);

  // The graph, once; nothing can be traced then.
  GraphPtr finish();
  // Why it traces no longer, if it observes; else empty.
  const std::string& failure() const noexcept;
  void give_up(std::string why);
  bool observes() const noexcept;
  const Graph& graph() const noexcept;

  // Traces a call, makes it, and replaces the arguments by the results.
  void call(const Operator& op, DispatchKeySet keys, Stack& stack);

  // Traces a call of a function that is no operator as one node: see [Functions].
  struct FunctionCall {
    std::string name;                // for messages
    std::span<const Tensor> inputs;  // what the function takes of the graph
    // The node, without outputs and in no block yet.
    std::function<Node*(Graph& graph, std::span<Value* const> inputs)> create;
    std::function<std::vector<Tensor>()> run;
  };
  std::vector<Tensor> call(const FunctionCall& function);

 private:
  friend class TraceGuard;
  const std::unique_ptr<TraceData> data_;
};

// Traces this thread's calls for a scope. Raises Unsupported while another trace is active on this
// thread, and BadRegistration if someone else has a fallback at the key Tracer.
class OPYARD_API TraceGuard {
 public:
  explicit TraceGuard(Trace& trace);
  TraceGuard(const TraceGuard&) = delete;
  TraceGuard& operator=(const TraceGuard&) = delete;
  ~TraceGuard();

 private:
  std::optional<IncludeDispatchKeyGuard> include_;
};

// The trace that is active on this thread, or null: also in what a traced call calls.
OPYARD_API Trace* current_trace() noexcept;
// The same, but null in what a traced call calls, and when the trace has given up.
OPYARD_API Trace* trace_of_calls() noexcept;

// Calls a function with these tensors and gives the graph of what it called. Raises what it throws.
OPYARD_API GraphPtr
trace(const std::function<std::vector<Tensor>(std::span<const Tensor>)>& function,
      std::span<const Tensor> inputs, TraceOptions options = {});

}  // namespace opyard::jit
