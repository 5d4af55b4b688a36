// opyard/interpreter/interruption.h: interruption of long C++ runs by signals such as Ctrl-C.
//
//   opyard::check_interruption();    in a loop that may run for long
//
// A signal, such as that of Ctrl-C, only sets a flag of the interpreter; its handler runs once the
// interpreter looks. The check looks, and throws what the handler raised. Loops of graphs call it
// at their back edges, and a backward before each function; a kernel may call it between two
// parts of its work, where it can be left by an exception.
//
// Without an interpreter, and on a thread that does not hold its lock, nothing happens. Another
// thread that waits for the lock may get it meanwhile.
//
// Depends on: base/export.h.
#pragma once

#include <atomic>

#include "opyard/base/export.h"

namespace opyard {

// Throws to end the run. The function stays mapped for the life of the process.
using InterruptionCheck = void (*)();
// Of the plugin of an interpreter, set when it loads; null for none.
extern OPYARD_API std::atomic<InterruptionCheck> interruption_check;

inline void check_interruption() {
  if (const InterruptionCheck check = interruption_check.load(std::memory_order_acquire)) check();
}

}  // namespace opyard
