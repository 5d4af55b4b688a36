// code/entered.h: exclusive use of a state by one thread.
//
// Depends on: jit/interpreter_state.h.
#pragma once

#include "opyard/jit/interpreter_state.h"

namespace opyard::jit {

// While it lives no other thread gets into the state.
struct InterpreterState::Entered {
  explicit Entered(const InterpreterState& state) : busy(state.busy_) {
    OPYARD_CHECK(
        !busy.exchange(true, std::memory_order_acquire), BadGraph,
        "this state is in use, by another thread or by an operation that it runs; clone it");
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  ~Entered() { busy.store(false, std::memory_order_release); }
  std::atomic<bool>& busy;
};

}  // namespace opyard::jit
