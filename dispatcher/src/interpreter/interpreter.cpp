// interpreter/interpreter.cpp: interpreter tags, and the function table after an interpreter's end.
#include "opyard/interpreter/interpreter.h"

#include <string>

namespace opyard {
namespace {

// What a function does once its interpreter is gone, if it has something to give.
[[noreturn]] OPYARD_COLD void refuse(const char* function) {
  fail(ErrorKind::InterpreterGone,
       std::string(function) +
           ": a tensor or an object was asked for what its interpreter defines, but that "
           "interpreter has ended; pass t.alias() to get a tensor on the same storage that needs "
           "none");
}

#define OPYARD_FUNCTION_MORE(...) __VA_OPT__(, ) __VA_ARGS__
#define OPYARD_INTERPRETER_FUNCTION(name, result, parameters, arguments, disarmed) \
  result disarmed_##name(Interpreter& OPYARD_FUNCTION_MORE parameters) { disarmed; }
// A disarmed function has no use for its arguments.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "opyard/interpreter/interpreter_functions.def"
#pragma GCC diagnostic pop
#undef OPYARD_INTERPRETER_FUNCTION
#undef OPYARD_FUNCTION_MORE

constinit std::atomic<Interpreter*> newest{nullptr};

constexpr InterpreterVTable kDisarmed{
#define OPYARD_INTERPRETER_FUNCTION(name, result, parameters, arguments, disarmed) disarmed_##name,
#include "opyard/interpreter/interpreter_functions.def"
#undef OPYARD_INTERPRETER_FUNCTION
};

}  // namespace

const InterpreterVTable& disarmed_vtable() noexcept { return kDisarmed; }

// All tags hang on one chain, so that a checker for leaks can tell them from lost memory.
Interpreter* Interpreter::create(const InterpreterVTable* vtable, void* context) {
  auto* const tag = new Interpreter(vtable, context);
  tag->older_ = newest.load(std::memory_order_relaxed);
  while (!newest.compare_exchange_weak(tag->older_, tag, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
  return tag;
}

Interpreter* Interpreter::here() noexcept {
  for (Interpreter* tag = newest.load(std::memory_order_acquire); tag != nullptr;
       tag = tag->older_) {
    if (tag->is_current()) return tag;
  }
  return nullptr;
}

void Interpreter::disarm() noexcept { vtable_.store(&kDisarmed, std::memory_order_release); }

bool Interpreter::armed() const noexcept {
  return vtable_.load(std::memory_order_acquire) != &kDisarmed;
}

}  // namespace opyard
