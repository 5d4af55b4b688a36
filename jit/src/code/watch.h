// code/watch.h: runs with a budget, timing or last-use checks.
//
// Depends on: code/plan.h, jit/interpreter_state.h.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "code/plan.h"
#include "opyard/jit/interpreter_state.h"

namespace opyard::jit {

struct Watch {
  using Clock = std::chrono::steady_clock;

  std::optional<RunBudget> budget;  // what is left of steps and bytes
  Clock::time_point deadline;       // if the budget has a time
  std::optional<Plan> plan;         // registers are checked against it
  std::vector<InstructionTime> times;

  // Null if there is no end.
  const Clock::time_point* find_deadline() const;
  // Before an instruction: raises if the budget is used up, or a register is not as planned.
  void before(const Frame& frame);
  // Behind it.
  void after(const Frame& frame, const Instruction* done, Clock::duration took);
};

[[noreturn]] OPYARD_COLD void refuse_time();

// As run(), and raises what the watch raises, with the place, before the instruction has begun.
void run_watched(Frame& frame, Watch& watch);
const Instruction* run_one_watched(Frame& frame, Watch& watch);

}  // namespace opyard::jit
