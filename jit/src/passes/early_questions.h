// passes/early_questions.h: size queries of later stages, moved to the stage that has the value.
//
// Depends on: jit/graph.h.
#pragma once

#include "opyard/jit/graph.h"

namespace opyard::jit::detail {

// A value of an earlier stage that the last stage uses for its sizes alone would live until then.
// What is asked of it is asked in its own stage instead: a question (see jit/formula.h) behind the
// node that gives it, and the sizes that an opyard::sum_to sums to.
void ask_early(Graph& graph);

}  // namespace opyard::jit::detail
