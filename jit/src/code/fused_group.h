// code/fused_group.h: execution of prim::FusionGroup. See jit/fuse.h, [Running].
//
// A plan (fusion/fused_plan.h) is made once for each kind of inputs, and cached with the code.
//
// Depends on: code/code_data.h.
#pragma once

#include <span>

#include "code/code_data.h"

namespace opyard::jit {

class FusedGroup : public Operation {
 public:
  // `outputs` has one empty value for each output of the node.
  virtual void run_lent(std::span<const Register* const> inputs,
                        std::span<Register> outputs) const = 0;
};

// `code` is that of its Subgraph. A group that blocks cannot compute calls its operators always.
// Bit i of `given_up`: the caller of run_lent() owns input i, passes it once and empties it next,
// so that an output may have its memory.
CountedPtr<const FusedGroup> make_fused_group(const Node& node, CodePtr code,
                                              std::uint64_t given_up);

}  // namespace opyard::jit
