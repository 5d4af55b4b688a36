// opyard/slot/interpreter.h: an interpreter, as C++ sees one.
//
// C++ objects can own objects of an interpreter without knowing its language: they keep an
// opaque pointer and a tag. The tag is an Interpreter: a leaked object, so that it may
// outlive the plugin that made it, with an atomic pointer to a table of functions. When the
// interpreter ends the pointer is swapped for a table that lives in libopyard ("disarmed").
//
// Depends on: base/error.h, slot/interpreter_slots.def.
#pragma once

#include <atomic>

#include "opyard/base/error.h"
#include "opyard/base/export.h"

namespace opyard {

struct InterpreterVTable {
#define OPYARD_INTERPRETER_SLOT(name, result, parameters, arguments, disarmed) \
  result(*name) parameters;
#include "opyard/slot/interpreter_slots.def"
#undef OPYARD_INTERPRETER_SLOT
};

class OPYARD_API Interpreter {
 public:
  // A new tag. It is never freed, since objects may point to it for ever.
  static Interpreter* create(const InterpreterVTable* vtable);

  // The table to call through now. Safe in any thread, before and after the disarming.
  const InterpreterVTable& operator*() const noexcept {
    return *vtable_.load(std::memory_order_acquire);
  }
  const InterpreterVTable* operator->() const noexcept { return &**this; }

  // From now on every slot is the disarmed one. Threads inside a slot finish it.
  void disarm() noexcept;
  bool armed() const noexcept;

 private:
  explicit Interpreter(const InterpreterVTable* vtable) : vtable_(vtable) {}

  std::atomic<const InterpreterVTable*> vtable_;
  Interpreter* older_ = nullptr;  // written once by create(): all tags stay reachable
};

// The table whose slots do nothing or raise InterpreterGone.
OPYARD_API const InterpreterVTable& disarmed_vtable() noexcept;

}  // namespace opyard
