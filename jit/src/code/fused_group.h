// code/fused_group.h: what a prim::FusionGroup runs. See jit/fuse.h, [Running].
//
// A plan (code/fused_plan.h) is made once for each kind of inputs, and kept with the code.
//
// Depends on: code/code_data.h.
#pragma once

#include "code/code_data.h"

namespace opyard::jit {

// `code` is that of its Subgraph. A group that blocks cannot compute calls its operators always.
CountedPtr<const Operation> make_fused_group(const Node& node, CodePtr code);

}  // namespace opyard::jit
