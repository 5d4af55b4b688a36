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

// All tags hang on one chain, so that a checker for leaks can tell them from lost memory.
Interpreter* Interpreter::create(const InterpreterVTable* vtable) {
  static constinit std::atomic<Interpreter*> newest{nullptr};
  auto* const tag = new Interpreter(vtable);
  tag->older_ = newest.load(std::memory_order_relaxed);
  while (!newest.compare_exchange_weak(tag->older_, tag, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
  return tag;
}

void Interpreter::disarm() noexcept { vtable_.store(&kDisarmed, std::memory_order_release); }

bool Interpreter::armed() const noexcept {
  return vtable_.load(std::memory_order_acquire) != &kDisarmed;
}

}  // namespace opyard
