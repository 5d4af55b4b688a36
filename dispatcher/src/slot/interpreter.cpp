// slot/interpreter.cpp: tags, and the table of an interpreter that is gone.
#include "opyard/slot/interpreter.h"

namespace opyard {
namespace {

#define OPYARD_INTERPRETER_SLOT(name, result, parameters, arguments, disarmed) \
  result disarmed_##name parameters { disarmed; }
// A housekeeping slot has no use for its arguments once disarmed.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "opyard/slot/interpreter_slots.def"
#pragma GCC diagnostic pop
#undef OPYARD_INTERPRETER_SLOT

constexpr InterpreterVTable kDisarmed{
#define OPYARD_INTERPRETER_SLOT(name, result, parameters, arguments, disarmed) disarmed_##name,
#include "opyard/slot/interpreter_slots.def"
#undef OPYARD_INTERPRETER_SLOT
};

}  // namespace

const InterpreterVTable& disarmed_vtable() noexcept { return kDisarmed; }

Interpreter* Interpreter::create(const InterpreterVTable* vtable) {
  return new Interpreter(vtable);
}

void Interpreter::disarm() noexcept { vtable_.store(&kDisarmed, std::memory_order_release); }

bool Interpreter::armed() const noexcept {
  return vtable_.load(std::memory_order_acquire) != &kDisarmed;
}

}  // namespace opyard
