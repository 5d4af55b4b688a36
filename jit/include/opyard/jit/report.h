// opyard/jit/report.h: live ranges of a code's registers, before it runs.
//
// [Plan] A register is live before an instruction if a later one, on some way on, reads or drops
// it. This is computed backwards from the instructions alone, and owes nothing to how they were
// made: so a state that checks its registers against it (InterpreterState::check_frees) checks
// every last use.
//
// Depends on: jit/code.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "opyard/jit/code.h"

namespace opyard::jit {

struct StageReport {
  // Values that may own memory and live at once, at most, and the first instruction where they do.
  std::size_t peak = 0;
  std::size_t peak_at = 0;
  std::vector<const Value*> peak_values;
  // What lives on behind the stage, and the node of a later stage, or the Return, that needs it.
  std::vector<std::pair<const Value*, const Node*>> live_after;
  std::vector<const Value*> unused_inputs;   // never held
  std::vector<const Value*> unused_outputs;  // of nodes; freed at once
};

// One for each stage. Raises Unsupported for a code of more than 20,000 instructions.
OPYARD_API std::vector<StageReport> lifetimes(const Code& code);
OPYARD_API std::string to_string(const std::vector<StageReport>& report);

}  // namespace opyard::jit
