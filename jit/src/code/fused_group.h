// code/fused_group.h: what a prim::FusionGroup runs. See jit/fuse.h, [Running].
//
// [Slots] A slot is a number, an input or what an operator gives: an output, or a buffer of one
// block on the thread's stack, which is used again behind the last use of what was in it.
//
// Depends on: code/code_data.h.
#pragma once

#include "code/code_data.h"

namespace opyard::jit {

// `code` is that of its Subgraph. A group that blocks cannot compute calls its operators always.
CountedPtr<const Operation> make_fused_group(const Node& node, CodePtr code);

}  // namespace opyard::jit
