// passes/fusible.h: which calls a group of fused operators may hold. See jit/fuse.h.
//
// Depends on: jit/block_functions.h, jit/node.h.
#pragma once

#include <optional>

#include "opyard/jit/block_functions.h"
#include "opyard/jit/graph.h"
#include "opyard/registry/operator.h"

namespace opyard::jit::detail {

// A call that a block function computes.
struct FusibleCall {
  const Operator* op;
  const BlockFunction* function;
  const BlockFunctions* offered;   // the list that it is in
  std::optional<DType> converted;  // the dtype that a BlockKind::Converted gives
};
// Nothing for a node that calls anything else, or with numbers that are not known.
std::optional<FusibleCall> find_fusible_call(const Node& node);

// The number that a value is known to be, if float32 holds it as its operator would convert it.
struct FusibleNumber {
  double value;
  bool is_int;
};
std::optional<FusibleNumber> find_fusible_number(const Value* value);

// Whether a prim::FusionGroup has fusible calls and constants alone, and gives what they computed.
bool is_fused(const Node& node);

}  // namespace opyard::jit::detail
