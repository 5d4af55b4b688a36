// opyard/detail/interpreter/main_interpreter.h: main interpreter of the process.
//
// The first that says so, until it has ended; then the next one.
//
// Depends on: interpreter/interpreter.h.
#pragma once

#include "opyard/base/export.h"
#include "opyard/interpreter/interpreter.h"

namespace opyard {

// Makes an interpreter the main one, unless there is one that has not ended.
OPYARD_API void offer_main_interpreter(Interpreter* interpreter) noexcept;
// Null if there is none, or it has ended.
OPYARD_API Interpreter* main_interpreter() noexcept;

}  // namespace opyard
