// graphs/runs.h: an InterpreterState as Python holds it, and its call path.
//
// Depends on: graphs/graphs.h, jit/interpreter_state.h.
#pragma once

#include "graphs/graphs.h"

#include <memory>

#include "opyard/jit/interpreter_state.h"

namespace opyard::graphs {

struct SharedState {
  SharedState(jit::InterpreterState&& run, std::shared_ptr<const std::vector<StageTypes>> types)
      : state(std::move(run)), stages(std::move(types)) {}

  jit::InterpreterState state;
  std::shared_ptr<const std::vector<StageTypes>> stages;
};

void set_code_slots(PyHeapTypeObject* type);
void add_stage_methods(py::class_<SharedState>& state);

}  // namespace opyard::graphs
