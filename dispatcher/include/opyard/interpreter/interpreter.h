// opyard/interpreter/interpreter.h: interpreters as C++ sees them: a tag and a function table.
//
// C++ objects can own objects of an interpreter without knowing its language: they hold an
// opaque pointer and a tag. The tag is an Interpreter: a leaked object, so that it may
// outlive the plugin that made it, with an atomic pointer to a table of functions. When the
// interpreter ends the pointer is swapped for a table that lives in libopyard ("disarmed").
//
//   tag->decref(object, false)     asks the interpreter: interpreter_functions.def has all of it
//
//   Interpreter { vtable ──> the plugin's table, later the disarmed one of libopyard
//                 context ─> what the plugin holds for this interpreter }
//
// Depends on: base/error.h, keys/dispatch_key_set.h, interpreter/interpreter_functions.def.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "opyard/base/error.h"
#include "opyard/base/export.h"
#include "opyard/keys/dispatch_key_set.h"

namespace opyard {

// Of layers above; see the head of interpreter_functions.def.
class Operator;
class Stack;
class SymInt;
class Tensor;
class TensorImpl;
struct Device;
enum class Layout : std::uint8_t;
enum class MemoryFormat : std::uint8_t;

class Interpreter;

#define OPYARD_SLOT_PARAMETERS(...) __VA_ARGS__
#define OPYARD_FUNCTION_MORE(...) __VA_OPT__(, ) __VA_ARGS__

// What the plugin of an interpreter does for the core: the rows of interpreter_functions.def.
struct InterpreterVTable {
#define OPYARD_INTERPRETER_FUNCTION(name, result, parameters, arguments, disarmed) \
  result (*name)(Interpreter & interpreter OPYARD_FUNCTION_MORE parameters);
#include "opyard/interpreter/interpreter_functions.def"
#undef OPYARD_INTERPRETER_FUNCTION
};

class OPYARD_API Interpreter {
 public:
  // A new tag. It is never freed, since objects may point to it for ever. `context` is the
  // table's own: its functions find it in the interpreter that they get.
  static Interpreter* create(const InterpreterVTable* vtable, void* context = nullptr);

  // One call a function of the table, through the table of now. Safe in any thread, before and
  // after the disarming.
#define OPYARD_INTERPRETER_FUNCTION(name, result, parameters, arguments, disarmed) \
  result name(OPYARD_SLOT_PARAMETERS parameters) {                                 \
    return vtable().name(*this OPYARD_FUNCTION_MORE arguments);                    \
  }
#include "opyard/interpreter/interpreter_functions.def"
#undef OPYARD_INTERPRETER_FUNCTION

  const InterpreterVTable& vtable() const noexcept {
    return *vtable_.load(std::memory_order_acquire);
  }
  void* context() const noexcept { return context_; }

  // The interpreter that this thread is in, or null. Asks all in turn, so not on a call's path.
  static Interpreter* here() noexcept;

  // From now on every function is the disarmed one. Threads inside a function finish it.
  void disarm() noexcept;
  bool armed() const noexcept;

 private:
  Interpreter(const InterpreterVTable* vtable, void* context)
      : vtable_(vtable), context_(context) {}

  std::atomic<const InterpreterVTable*> vtable_;
  void* const context_;
  Interpreter* older_ = nullptr;  // written once by create(): all tags stay reachable
};

#undef OPYARD_SLOT_PARAMETERS
#undef OPYARD_FUNCTION_MORE

// The table whose functions do nothing or raise InterpreterGone.
OPYARD_API const InterpreterVTable& disarmed_vtable() noexcept;

}  // namespace opyard
