// opyard/detail/registry/formula_check.h: who reads formulas before they are registered.
//
// The registry stores formulas as text. The library that can read them may ask to see each
// derivative of an operator that is defined, and refuse it.
//
// Depends on: detail/registry/recorder.h.
#pragma once

#include <atomic>

#include "opyard/detail/registry/recorder.h"

namespace opyard::detail {

// Raises what is wrong with a derivative. Called on any thread, with no lock held.
using FormulaCheck = void (*)(const Operator& op, const Derivative& derivative);

// Null if none is asked.
extern OPYARD_API constinit std::atomic<FormulaCheck> formula_check;

}  // namespace opyard::detail
