// opyard/base/backtrace.h: C++ backtraces of errors.
//
// With OPYARD_SHOW_CPP_STACKTRACES=1 in the environment, or show_backtraces(true), the text of
// each Error ends in the C++ functions that led to it, innermost first. An error that carries an
// exception of another language has that language's traceback instead. Costs nothing if no error
// is made.
//
// Depends on: base/export.h.
#pragma once

#include <string_view>

#include "opyard/base/export.h"

namespace opyard {

// Gives the former setting.
OPYARD_API bool show_backtraces(bool show) noexcept;

// The text of an error without its backtrace.
OPYARD_API std::string_view without_backtrace(std::string_view text) noexcept;

}  // namespace opyard
