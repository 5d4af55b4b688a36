// opyard/jit/operation.h: what a node does if it is no operator: a function of another layer.
//
// An operation hangs on its node as the payload: node->set_payload(make_counted<MyOperation>()). A
// prim::PythonOp has one that calls a Python function, a prim::CppOp one that calls a C++ function.
//
// Threads: run() may be called on several threads at once.
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
  // For messages and pictures.
  virtual std::string name() const = 0;
};

using CppFunction =
    std::function<void(std::span<const opyard::Value>, std::vector<opyard::Value>&)>;
OPYARD_API CountedPtr<Operation> cpp_operation(std::string name, CppFunction function);

// The operation on a node, or null.
OPYARD_API const Operation* operation_of(const Node& node);

}  // namespace opyard::jit
