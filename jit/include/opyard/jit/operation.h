// opyard/jit/operation.h: Operation: the payload of nodes that are no operators.
//
// An operation hangs on its node as the payload: node->set_payload(make_counted<MyOperation>()). A
// prim::PythonOp has one that calls a Python function, a prim::CppOp one that calls a C++ function.
// A kind whose nodes all do the same, as prim::Eval, has one for all of them: set_operation().
//
// [Pullbacks] A layer above wraps the operation of a node by one that gives a pullback, too, as the
// last output, for a later stage to run backward from. It is made if something uses it: run_at()
// is told the node. An output that nothing uses may be None.
//
// Threads: run() and run_at() may be called on several threads at once.
//
// Depends on: jit/graph.h.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "opyard/jit/graph.h"

namespace opyard::jit {

class OPYARD_API Operation : public Counted {
 public:
  ~Operation() override;

  // Appends one value for each output of the node; another number, or one that the output's type
  // does not accept, is an error of the run that names the node. What it throws ends the run as it
  // is.
  virtual void run(std::span<const opyard::Value> inputs,
                   std::vector<opyard::Value>& outputs) const = 0;
  // The same for one that depends on its node: what a graph's run calls.
  virtual void run_at(const Node& node, std::span<const opyard::Value> inputs,
                      std::vector<opyard::Value>& outputs) const;
  // The operation that this one wraps, or null.
  virtual const Operation* inner() const noexcept { return nullptr; }
  // For messages and pictures.
  virtual std::string name() const = 0;
};

// A function of C++ as a node: from its inputs to its outputs, which it appends.
using CppFunction =
    std::function<void(std::span<const opyard::Value>, std::vector<opyard::Value>&)>;
OPYARD_API CountedPtr<Operation> cpp_operation(std::string name, CppFunction function);

// Runs a graph of one stage, which is compiled here. Raises what compile() raises.
OPYARD_API CountedPtr<Operation> graph_operation(std::string name, GraphPtr graph);

// What nodes of this kind do that have no operation of their own, from now on in this process. The
// first one stays.
OPYARD_API void set_operation(Symbol kind, CountedPtr<const Operation> operation);
// The operation on a node, or of its kind, or null.
OPYARD_API const Operation* operation_of(const Node& node);

}  // namespace opyard::jit
