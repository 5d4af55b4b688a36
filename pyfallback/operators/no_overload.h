// operators/no_overload.h: errors of calls that no overload of an operator takes.
//
// Depends on: operators/call_plan.h.
#pragma once

#include "runtime/runtime.h"

#include <span>

#include "operators/call_plan.h"

namespace opyard::python {

// `overloads` in order of definition, at least two, each with why it does not take the arguments.
// Raises BadArgument: why the likeliest does not, its declaration, what to do, and what the others
// are called.
[[noreturn]] OPYARD_COLD void refuse_all(std::span<PyObject* const> overloads,
                                         std::span<const ArgumentMismatch> mismatches,
                                         const GivenArguments& given);

}  // namespace opyard::python
