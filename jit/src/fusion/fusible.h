// fusion/fusible.h: operators that fused groups may hold. See jit/fuse.h.
//
// Depends on: jit/block_functions.h, jit/node.h.
#pragma once

#include <optional>
#include <span>
#include <vector>

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

// The last call of a group: see jit/block_functions.h [Tails].
struct FusibleTail {
  const Operator* op;
  const BlockTail* tail;
  std::vector<const Value*> tensors;              // that it reduces, or joins
  std::vector<opyard::Value> arguments;           // all others, which are constants
  std::optional<std::vector<std::int64_t>> dims;  // that it reduces; nothing for all
  bool keepdim = false;
  std::int64_t dim = 0;  // along which it joins
};
// Nothing for a node that calls anything else, or with arguments that are not known.
std::optional<FusibleTail> find_fusible_tail(const Node& node);
// The tail whose list of tensors this node makes, which nothing else uses and which comes next.
const Node* find_tail_of_list(const Node& node);
// The list of a tail that joins, or null.
Node* list_of_tail(const Node& node);

// Whether a prim::FusionGroup has fusible calls, constants and one tail, and gives what they
// computed.
bool is_fused(const Node& node);

}  // namespace opyard::jit::detail
