// code/plan.h: liveness of registers at each instruction. See jit/report.h, [Plan].
//
// Depends on: code/code_data.h.
#pragma once

#include <vector>

#include "code/code_data.h"

namespace opyard::jit {

// By instruction, then by register.
using Plan = std::vector<std::vector<bool>>;

// Raises Unsupported for a code of more than 20,000 instructions.
Plan make_plan(const CodeData& code);
// The registers that are live between a stage and the next.
std::vector<bool> live_behind(const CodeData& code, const Plan& plan, std::size_t stage);

}  // namespace opyard::jit
