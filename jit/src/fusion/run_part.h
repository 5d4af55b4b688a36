// fusion/run_part.h: running the plan of a part, on one thread or on several.
//
// Each tensor of the plan begins where `tensors` says, in the plan's order; that of a row is not
// looked at. `in_place`: an output has the memory of an input, as the plan allows.
//
// Depends on: fusion/fused_plan.h.
#pragma once

#include <cstddef>
#include <span>

#include "fusion/fused_plan.h"

namespace opyard::jit {

void run_part(const PartPlan& plan, std::span<std::byte* const> tensors, bool in_place);

// A part with a row: `result` gets one element for each.
void reduce_part(const PartPlan& plan, const TailPlan& tail, std::span<std::byte* const> tensors,
                 bool in_place, std::byte* result);

}  // namespace opyard::jit
