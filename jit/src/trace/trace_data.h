// trace/trace_data.h: the state of a trace.
//
// Depends on: jit/trace.h.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "opyard/jit/trace.h"
#include "opyard/keys/gradient_mode.h"

namespace opyard::jit {

struct TraceData {
  explicit TraceData(TraceOptions given) : options(std::move(given)), graph(make_graph()) {}

  // ---- tensors: trace.cpp [Identity]

  struct Known {
    Tensor tensor;  // held, so that its address is its own
    Value* value;
    bool made = false;  // see Trace::add_made(); its value is null until it is used
  };
  std::unordered_map<const TensorImpl*, Known> tensors;
  std::unordered_set<const Storage*>
      constant_memory;  // of constants that are in the graph as they are
  // The memory of values that are computed at each run: where it begins, where it ends, one value
  // in it.
  struct Memory {
    const std::byte* end;
    Value* value;
  };
  std::map<const std::byte*, Memory> memory;

  void learn(const Tensor& tensor, Value* value);
  Value* find(const Tensor& tensor) const noexcept;
  Value* value_of(const Tensor& tensor);

  // ---- arguments and results: arguments.cpp

  Value* value_of(const opyard::Value& argument, const Type& type);
  Value* constant(const opyard::Value& value, const Type& type);
  Node* create_node(const Operator& op, std::span<const opyard::Value> arguments);
  void take_results(Node* node, const Schema& schema, std::span<const opyard::Value> results);
  void drop_unused_constants();

  // trace.cpp. Both raise Unsupported.
  void check_may_call(const Operator& op) const;
  void check_modes(const std::string& name) const;

  Node* append(Node* node);

  const TraceOptions options;
  const GraphPtr graph;
  std::unordered_map<std::string, Value*>
      pool;                      // of constants that are no tensors, by text and type
  std::vector<Node*> constants;  // all that were made
  std::vector<Node*> unpacked;   // ListUnpack nodes, which nothing may use
  std::vector<Node*> copies;     // of constants: Trace::add_made()
  std::size_t modes = 0;         // of the thread when the trace began,
  LocalKeys keys;                // with Tracer
  GradientMode gradients = GradientMode::Gradients;
  std::string failure;  // see TraceOptions::observes
  bool finished = false;

 private:
  Value* container(Symbol kind, const opyard::Value& argument, const Type& type);
};

}  // namespace opyard::jit
